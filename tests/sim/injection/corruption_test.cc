#include "sim/injection/corruption.h"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(Corruption, FlipsOneBitOfOneElementAndPutsItBack) {
  RandomStream stream(1, "test");
  for (int i = 0; i < 100; ++i) {
    std::vector<std::uint32_t> values(7, 0x12345678);
    const SavedBytes saved = corrupt(view(values), Corruption::bit_flip, stream);
    int flipped = 0;
    for (const std::uint32_t value : values) flipped += std::popcount(value ^ 0x12345678);
    EXPECT_EQ(flipped, 1);
    saved.restore();
    EXPECT_EQ(values, std::vector<std::uint32_t>(7, 0x12345678));
  }
}

TEST(Corruption, MakesFloatingPointNaNs) {
  RandomStream stream(1, "test");
  std::vector<double> values(3, 1);
  corrupt(view(values), Corruption::nan, stream);
  EXPECT_TRUE(std::isnan(values[0] + values[1] + values[2]));
  std::vector<std::int32_t> whole(3, 1);
  corrupt(view(whole), Corruption::nan, stream);
  EXPECT_NE(whole, std::vector<std::int32_t>(3, 1)) << "a bit, of those that have no NaN";
}

TEST(Corruption, AlwaysChangesSomething) {
  RandomStream stream(1, "test");
  bool truth = true;
  corrupt(view_of(truth), Corruption::bit_flip, stream);
  EXPECT_FALSE(truth);
  float nan = std::nanf("");
  const auto before = std::bit_cast<std::uint32_t>(nan);
  corrupt(view_of(nan), Corruption::nan, stream);
  EXPECT_NE(std::bit_cast<std::uint32_t>(nan), before);
}

}  // namespace
}  // namespace gang::sim
