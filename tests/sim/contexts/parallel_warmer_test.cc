#include "sim/contexts/parallel_warmer.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// Untouched stacks of four pages.
class Stacks {
 public:
  explicit Stacks(std::size_t count) : row_{.stride = 4 * page_bytes, .count = count} {
    void* const base = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(base, MAP_FAILED);
    EXPECT_EQ(::madvise(base, bytes(), MADV_NOHUGEPAGE), 0);
    row_.base = static_cast<std::byte*>(base);
  }
  ~Stacks() { ::munmap(row_.base, bytes()); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  const StackRow& row() const { return row_; }
  std::byte* top(std::size_t stack) const { return row_.base + (stack + 1) * row_.stride; }

  // Whether a page of a stack has memory; 0 is the one that is used first.
  bool has_memory(std::size_t stack, std::size_t page = 0) const {
    unsigned char is_resident = 0;
    EXPECT_EQ(::mincore(top(stack) - (page + 1) * page_bytes, page_bytes, &is_resident), 0);
    return (is_resident & 1) != 0;
  }

  bool gets_memory(std::size_t stack) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!has_memory(stack) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return has_memory(stack);
  }

 private:
  std::size_t bytes() const { return row_.stride * row_.count; }

  StackRow row_;
};

bool can_warm() {
  if (std::thread::hardware_concurrency() < 2) return false;
#ifdef MADV_POPULATE_WRITE
  const Stacks one(1);
  return ::madvise(one.row().base, page_bytes, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

constexpr const char* why_not = "needs two processors and Linux 5.14";

TEST(ParallelWarmer, GivesTheFirstPageOfEachStackItsMemory) {
  if (!can_warm()) GTEST_SKIP() << why_not;
  const Stacks stacks(100);
  const ParallelWarmer warmer(stacks.row());
  EXPECT_TRUE(stacks.gets_memory(0)) << "which comes last";
  for (std::size_t stack = 0; stack < 100; ++stack) {
    EXPECT_TRUE(stacks.has_memory(stack)) << stack;
    EXPECT_FALSE(stacks.has_memory(stack, 1)) << stack;
  }
}

TEST(ParallelWarmer, LeavesAloneWhatIsWrittenMeanwhile) {
  const Stacks stacks(5'000);
  {
    const ParallelWarmer warmer(stacks.row());
    for (std::size_t stack = 0; stack < 5'000; ++stack)
      *(stacks.top(stack) - 1) = static_cast<std::byte>(stack % 251);
  }
  for (std::size_t stack = 0; stack < 5'000; ++stack)
    EXPECT_EQ(*(stacks.top(stack) - 1), static_cast<std::byte>(stack % 251)) << stack;
}

TEST(ParallelWarmer, EndsWhereItMeetsTheStacksInUse) {
  if (!can_warm()) GTEST_SKIP() << why_not;
  const Stacks stacks(50'000);
  ParallelWarmer warmer(stacks.row());
  for (int i = 0; i < 30'000; ++i) warmer.note_taken();
  EXPECT_TRUE(stacks.gets_memory(30'000));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(stacks.has_memory(29'999));
}

TEST(ParallelWarmer, StopsWhenItIsDestroyed) {
  const Stacks stacks(200'000);
  {
    const ParallelWarmer warmer(stacks.row());
  }
  EXPECT_FALSE(stacks.has_memory(0));
}

// A sanitizer's own memory is more than any limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(ParallelWarmerDeathTest, IsNotNeeded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Stacks stacks(100);
  const auto warm_without_threads = [&stacks] {
    const rlimit little{.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    if (::setrlimit(RLIMIT_AS, &little) != 0) std::_Exit(1);
    {
      const ParallelWarmer warmer(stacks.row());
    }
    std::_Exit(stacks.has_memory(0) ? 2 : 0);
  };
  EXPECT_EXIT(warm_without_threads(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace gang::sim
