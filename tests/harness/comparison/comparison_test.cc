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
  const Outputs kept = outputs_of({{1}});
  EXPECT_EQ(first_difference(kept, {.digest = kept.digest}), std::nullopt);
  EXPECT_EQ(first_difference({.digest = kept.digest}, kept), std::nullopt);
  EXPECT_THROW(first_difference(kept, {.digest = kept.digest + 1}), InvalidArgument);
}

template <typename T>
Outputs output_with(std::vector<T> values) {
  OutputRecorder recorder{1, KeepOutputs::data};
  recorder.record(0, "gradient", view(values));
  return recorder.take_outputs();
}

TEST(FirstDifference, WholeNumbersAreNeverNear) {
  const Tolerance any{.units_in_last_place = 1e20};
  EXPECT_TRUE(
      first_difference(output_with<std::int32_t>({5}), output_with<std::int32_t>({6}), any));
  EXPECT_FALSE(first_difference(output_with<float>({5}), output_with<float>({6}), any));
}

TEST(FirstDifference, IsTheTypeEvenIfTheBytesAreEqual) {
  EXPECT_TRUE(first_difference(output_with<std::int32_t>({0}), output_with<float>({0})));
}

TEST(FirstDifference, IsTheSameFromBothSides) {
  // Half a unit of the larger one.
  const Tolerance half{.units_in_last_place = 0.5 / 0x1p-23};
  EXPECT_FALSE(first_difference(outputs_of({{0.5F}}), outputs_of({{1.0F}}), half));
  EXPECT_FALSE(first_difference(outputs_of({{1.0F}}), outputs_of({{0.5F}}), half));
}

TEST(FirstDifference, BesideInfinityOtherNumbersStillDiffer) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tolerance tolerance{.units_in_last_place = 2,
                            .relative_to = Tolerance::RelativeTo::largest_of_output};
  EXPECT_TRUE(
      first_difference(outputs_of({{infinity, 1}}), outputs_of({{infinity, 2}}), tolerance));
}

TEST(FirstDifference, SeesAnOutputThatIsMissing) {
  Outputs two = outputs_of({{1}});
  two.by_rank[0].push_back(two.by_rank[0][0]);
  EXPECT_EQ(to_string(first_difference(two, outputs_of({{1}})).value()),
            "rank 0: 2 outputs on the left, 1 outputs on the right");
}

TEST(FirstDifference, NamesTheFirstElementToo) {
  EXPECT_EQ(to_string(first_difference(outputs_of({{1}}), outputs_of({{2}})).value()),
            "rank 0, gradient[0]: 1 on the left, 2 on the right");
}

}  // namespace
}  // namespace gang::harness
