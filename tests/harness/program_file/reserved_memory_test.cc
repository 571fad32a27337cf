#include "harness/program_file/reserved_memory.h"

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

TEST(ReservedMemory, TakesNoRoom) {
  const ReservedMemory one(std::size_t{1} << 38);
  const ReservedMemory other(std::size_t{1} << 38);
  ASSERT_NE(one.data(), nullptr);
  const auto distance =
      reinterpret_cast<std::intptr_t>(one.data()) - reinterpret_cast<std::intptr_t>(other.data());
  EXPECT_GE(std::abs(distance), std::intptr_t{1} << 38);
  EXPECT_EQ(one.data()[std::size_t{1} << 37], std::byte{0});
}

TEST(ReservedMemory, NothingNeedsNoAddress) { EXPECT_EQ(ReservedMemory(0).data(), nullptr); }

TEST(ReservedMemory, MoreThanAProcessHasIsRefused) {
  EXPECT_THROW(ReservedMemory(std::size_t{1} << 60), InvalidArgument);
}

TEST(ReservedMemory, IsGivenBack) {
  for (int i = 0; i < 300; ++i)
    EXPECT_NE(ReservedMemory(std::size_t{1} << 40).data(), nullptr) << i;
}

}  // namespace
}  // namespace gang::harness::program_file
