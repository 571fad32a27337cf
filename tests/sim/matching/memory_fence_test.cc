#include "sim/matching/memory_fence.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

constexpr std::size_t page = 4096;

// Memory that begins on a page.
struct Pages {
  explicit Pages(std::size_t count) : bytes(count * page) {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
    std::fill_n(memory.get(), bytes, std::byte{7});
  }
  TensorView view(std::size_t begin, std::size_t end) const {
    return {memory.get() + begin, DataType::u8,
            Shape::vector(static_cast<std::int64_t>(end - begin))};
  }
  std::byte read(std::size_t at) const {
    return *static_cast<const volatile std::byte*>(memory.get() + at);
  }
  void write(std::size_t at) const {
    *static_cast<volatile std::byte*>(memory.get() + at) = std::byte{1};
  }

  struct Free {
    void operator()(std::byte* pointer) const { std::free(pointer); }
  };
  std::size_t bytes;
  std::unique_ptr<std::byte, Free> memory;
};

class MemoryFenceTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (MemoryFence::is_fatal) GTEST_SKIP() << "AddressSanitizer ends the process at an access";
  }
};

TEST_F(MemoryFenceTest, NotesAReadAndLetsTheProgramGoOn) {
  const Pages pages(3);
  MemoryFence fence;
  fence.add(pages.view(0, 3 * page));
  fence.close();
  EXPECT_EQ(pages.read(page + 5), std::byte{7});
  EXPECT_EQ(pages.read(0), std::byte{7});
  fence.open();
  ASSERT_TRUE(fence.access().has_value());
  EXPECT_NE(fence.access()->instruction, 0U);
  EXPECT_FALSE(fence.access()->is_write);
}

TEST_F(MemoryFenceTest, TellsAWriteFromARead) {
#if defined(__x86_64__)
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(0, page));
  fence.close();
  pages.write(9);
  fence.open();
  ASSERT_TRUE(fence.access().has_value());
  EXPECT_TRUE(fence.access()->is_write);
  EXPECT_EQ(pages.read(9), std::byte{1});
#endif
}

TEST_F(MemoryFenceTest, AgainstWritesLetsReadsPass) {
  constexpr std::size_t bytes = MemoryFence::least_bytes_against_writes;
  const Pages pages(bytes / page);
  MemoryFence fence;
  fence.add(pages.view(0, bytes), MemoryFence::Against::writes);
  fence.close();
  EXPECT_EQ(pages.read(page + 5), std::byte{7});
  fence.open();
  EXPECT_FALSE(fence.access().has_value());
  fence.close();
  pages.write(page + 5);
  pages.write(0);
  fence.open();
  ASSERT_TRUE(fence.access().has_value());
  pages.write(1);
  EXPECT_EQ(pages.read(page + 5), std::byte{1});
}

TEST_F(MemoryFenceTest, AgainstWritesSmallRegionsAreNotFenced) {
  const Pages pages(2);
  MemoryFence fence;
  fence.add(pages.view(0, 2 * page), MemoryFence::Against::writes);
  fence.close();
  pages.write(page + 5);
  fence.open();
  EXPECT_FALSE(fence.access().has_value());
}

TEST_F(MemoryFenceTest, SeesNothingWhileOpen) {
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(0, page));
  pages.read(0);
  fence.close();
  fence.open();
  pages.read(0);
  pages.write(0);
  EXPECT_FALSE(fence.access().has_value());
}

TEST_F(MemoryFenceTest, CanBeClosedAgain) {
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(0, page));
  fence.close();
  fence.open();
  fence.close();
  pages.read(1);
  fence.open();
  EXPECT_TRUE(fence.access().has_value());
}

TEST_F(MemoryFenceTest, LeavesNeighboursOnAPageAlone) {
  const Pages pages(3);
  MemoryFence fence;
  fence.add(pages.view(100, 2 * page + 100));  // the page in the middle is whole
  fence.close();
  pages.write(50);
  pages.read(2 * page + 200);
  pages.read(200);  // inside, on no whole page: not seen
  fence.open();
  EXPECT_FALSE(fence.access().has_value());
}

TEST_F(MemoryFenceTest, SmallRegionsAreNotFenced) {
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(1, page));
  fence.close();
  pages.write(5);
  fence.open();
  EXPECT_FALSE(fence.access().has_value());
}

TEST_F(MemoryFenceTest, FencesBeyondTheMostStayOpen) {
  const Pages pages(MemoryFence::most_fences + 2);
  std::vector<std::unique_ptr<MemoryFence>> fences;
  for (std::size_t i = 0; i < MemoryFence::most_fences + 2; ++i) {
    fences.push_back(std::make_unique<MemoryFence>());
    fences.back()->add(pages.view(i * page, (i + 1) * page));
    fences.back()->close();
  }
  pages.read(0);
  pages.read((MemoryFence::most_fences + 1) * page);
  for (const auto& fence : fences) fence->open();
  EXPECT_TRUE(fences.front()->access().has_value());
  EXPECT_FALSE(fences.back()->access().has_value());
  fences.clear();
  MemoryFence after;  // slots are free again
  after.add(pages.view(0, page));
  after.close();
  pages.read(0);
  after.open();
  EXPECT_TRUE(after.access().has_value());
}

// ThreadSanitizer's own handler exits.
bool is_ended_by_fault(int status) {
#if defined(__SANITIZE_THREAD__)
  return testing::ExitedWithCode(66)(status);
#else
  return testing::KilledBySignal(SIGSEGV)(status);
#endif
}

TEST_F(MemoryFenceTest, OtherFaultsStillEndTheProcess) {
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(0, page));
  fence.close();
  EXPECT_EXIT(
      {
        int* volatile nowhere = reinterpret_cast<int*>(page);  // sanitizers know null
        *nowhere = 1;
      },
      is_ended_by_fault, "");
}

TEST_F(MemoryFenceTest, AFenceThatIsGoneIsOpen) {
  const Pages pages(1);
  {
    MemoryFence fence;
    fence.add(pages.view(0, page));
    fence.close();
  }
  pages.write(0);
  EXPECT_EQ(pages.read(0), std::byte{1});
}

TEST(MemoryFence, UnderAddressSanitizerEveryEightBytesCount) {
  if (!MemoryFence::is_fatal) GTEST_SKIP() << "needs a build with AddressSanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Pages pages(1);
  MemoryFence fence;
  fence.add(pages.view(16, 36));
  fence.close();
  EXPECT_DEATH(std::exit(static_cast<int>(pages.read(17))), "use-after-poison");
  EXPECT_EQ(pages.read(15), std::byte{7});
  fence.open();
  EXPECT_EQ(pages.read(17), std::byte{7});
}

}  // namespace
}  // namespace gang::sim
