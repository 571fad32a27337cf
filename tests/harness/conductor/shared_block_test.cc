#include "harness/conductor/shared_block.h"

#include <fcntl.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conductor/frame.h"
#include "tests/harness/conductor/shared_memory.h"

namespace gang::harness {
namespace {

Descriptor copy_of(const conducted::SharedMemory& memory) {
  return Descriptor(::dup(memory.descriptor()));
}

TEST(SharedBlock, IsTheMemoryOfTheOther) {
  const conducted::SharedMemory memory(8192);
  *memory.at<int>(4096) = 7;
  const SharedBlock block(copy_of(memory), memory.size());
  EXPECT_EQ(block.size(), 8192U);
  EXPECT_EQ(*reinterpret_cast<int*>(block.data() + 4096), 7);
  *reinterpret_cast<int*>(block.data()) = 5;
  EXPECT_EQ(*memory.at<int>(0), 5);
}

TEST(SharedBlock, OutlivesItsDescriptor) {
  const conducted::SharedMemory memory(64);
  std::optional<Descriptor> descriptor = copy_of(memory);
  const SharedBlock block(*descriptor, 64);
  descriptor.reset();
  *reinterpret_cast<int*>(block.data()) = 5;
  EXPECT_EQ(*memory.at<int>(0), 5);
}

TEST(SharedBlock, MayBeLessThanAll) {
  const conducted::SharedMemory memory(100);
  EXPECT_EQ(SharedBlock(copy_of(memory), 10).size(), 10U);
}

TEST(SharedBlock, MustBeMemoryOfThatSize) {
  const conducted::SharedMemory memory(4096);
  EXPECT_THROW(SharedBlock(copy_of(memory), 4097), ProtocolError);
  EXPECT_THAT(
      [&] { SharedBlock(copy_of(memory), 0); },
      testing::ThrowsMessage<ProtocolError>("a block of 0 bytes is not memory of that size"));
  EXPECT_THROW(SharedBlock(copy_of(memory), SIZE_MAX), ProtocolError);
  EXPECT_THROW(SharedBlock(Descriptor(), 1), ProtocolError);
  EXPECT_THROW(SharedBlock(Descriptor(::open("/", O_RDONLY | O_CLOEXEC)), 1), ProtocolError);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const Descriptor end(pipe[1]);
  EXPECT_THROW(SharedBlock(Descriptor(pipe[0]), 1), ProtocolError);
}

// Its owner could make it smaller while it is read.
TEST(SharedBlock, MustBeMemoryThatCannotShrink) {
  const Descriptor memory(::memfd_create("gangsim-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
  EXPECT_THROW(SharedBlock(Descriptor(::dup(memory.get())), 4096), ProtocolError);
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_THROW(SharedBlock(Descriptor(::dup(memory.get())), 4096), ProtocolError);
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(SharedBlock(Descriptor(::dup(memory.get())), 4096).size(), 4096U);
}

TEST(SharedBlock, IsUnmappedWithItsOwner) {
  const auto is_mapped = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text(std::istreambuf_iterator<char>(maps), {});
    return text.find("gangsim-unmapped") != std::string::npos;
  };
  const Descriptor memory(::memfd_create("gangsim-unmapped", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), 4096), 0);
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  {
    const SharedBlock block(Descriptor(::dup(memory.get())), 4096);
    EXPECT_TRUE(is_mapped());
  }
  EXPECT_FALSE(is_mapped());
}

}  // namespace
}  // namespace gang::harness
