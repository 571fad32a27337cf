#include "harness/comparison/comparison.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

Outputs outputs_of(std::vector<std::vector<float>> by_rank, const char* name = "gradient") {
  OutputRecorder recorder{static_cast<int>(by_rank.size()), KeepOutputs::data};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    recorder.record(static_cast<int>(rank), name, view(by_rank[rank]));
  }
  return recorder.take_outputs();
}

TEST(FirstDifference, IsNoneForEqualOutputs) {
  EXPECT_EQ(first_difference(outputs_of({{1, 2}, {3}}), outputs_of({{1, 2}, {3}})), std::nullopt);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(first_difference(outputs_of({{nan}}), outputs_of({{-nan}})), std::nullopt);
}

TEST(FirstDifference, NamesRankOutputElementAndBothValues) {
  const auto difference =
      first_difference(outputs_of({{1, 2}, {3, 4}}), outputs_of({{1, 2}, {3, 4.5}}));
  ASSERT_TRUE(difference);
  EXPECT_EQ(to_string(*difference), "rank 1, gradient[1]: 4 on the left, 4.5 on the right");
}

TEST(FirstDifference, KeepsWithinATolerance) {
  const float one = 1;
  const float next = std::nextafter(one, 2.0F);
  EXPECT_NE(first_difference(outputs_of({{one}}), outputs_of({{next}})), std::nullopt);
  EXPECT_EQ(first_difference(outputs_of({{one}}), outputs_of({{next}}), {.units_in_last_place = 1}),
            std::nullopt);
  EXPECT_NE(first_difference(outputs_of({{one}}), outputs_of({{1.1F}}), {.units_in_last_place = 1}),
            std::nullopt);
}

TEST(FirstDifference, ATolerancesUnitIsTheDistanceToTheNextNumber) {
  const float one = 1;
  float near = one;
  for (int i = 0; i < 3; ++i) near = std::nextafter(near, 2.0F);
  const auto differ_by = [&](double units) {
    return first_difference(outputs_of({{one}}), outputs_of({{near}}),
                            {.units_in_last_place = units})
        .has_value();
  };
  EXPECT_FALSE(differ_by(3));
  EXPECT_TRUE(differ_by(2.9));
  EXPECT_TRUE(differ_by(1));
}

TEST(FirstDifference, SeesOtherNamesCountsAndRanks) {
  EXPECT_EQ(to_string(*first_difference(outputs_of({{1}}), outputs_of({{1}}, "loss"))),
            "rank 0, gradient: gradient f32[1] on the left, loss f32[1] on the right");
  EXPECT_EQ(first_difference(outputs_of({{1}}), outputs_of({{1, 2}}))->element, -1);
  EXPECT_EQ(to_string(*first_difference(outputs_of({{1}}), outputs_of({{1}, {2}}))),
            "rank 1: 1 ranks on the left, 2 ranks on the right");
}

TEST(FirstDifference, NeedsTheDataOnlyWhereDigestsDiffer) {
  const Outputs left{.digest = 1};
  EXPECT_EQ(first_difference(left, {.digest = 1}), std::nullopt);
  EXPECT_THROW(first_difference(left, {.digest = 2}), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
