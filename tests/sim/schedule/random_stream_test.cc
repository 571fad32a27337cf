#include "sim/schedule/random_stream.h"

#include <array>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(RandomStream, IsTheSameOnEveryMachine) {
  RandomStream stream(1, "schedule");
  EXPECT_EQ(stream(), 0xdbaf3b7825fe2d7bULL);
  EXPECT_EQ(stream(), 0xde61c61bc8f7e794ULL);
}

TEST(RandomStream, IsAFunctionOfSeedNameAndIndex) {
  std::set<std::uint64_t> firsts;
  for (const std::uint64_t seed : {0, 1, 2})
    for (const char* name : {"schedule", "data", ""})
      for (const std::uint64_t index : {0, 1, 2}) {
        firsts.insert(RandomStream(seed, name, index)());
        EXPECT_EQ(RandomStream(seed, name, index)(), RandomStream(seed, name, index)());
      }
  EXPECT_EQ(firsts.size(), 27U);
}

TEST(RandomStream, BelowStaysBelowAndReachesEveryValue) {
  RandomStream stream(7, "below");
  std::array<int, 10> seen{};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = stream.below(seen.size());
    ASSERT_LT(value, seen.size());
    ++seen[value];
  }
  for (const int times : seen) EXPECT_NEAR(times, 1000, 200);
}

TEST(RandomStream, BelowOneIsZero) {
  RandomStream stream(7, "below");
  for (int i = 0; i < 100; ++i) ASSERT_EQ(stream.below(1), 0U);
}

TEST(RandomStream, BelowALargeBoundUsesTheUpperHalf) {
  RandomStream stream(7, "below");
  constexpr std::uint64_t bound = std::uint64_t{3} << 62;
  int upper = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = stream.below(bound);
    ASSERT_LT(value, bound);
    if (value > bound / 2) ++upper;
  }
  EXPECT_NEAR(upper, 500, 100);
}

TEST(RandomStream, UniformIsInTheUnitIntervalWithMeanOneHalf) {
  RandomStream stream(7, "uniform");
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = stream.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RandomStream, DrivesTheStandardDistributions) {
  RandomStream stream(7, "standard");
  std::uniform_int_distribution<int> die(1, 6);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(die(stream));
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace gang::sim
