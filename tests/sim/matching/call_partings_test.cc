#include "sim/matching/call_partings.h"

#include <cstdint>
#include <vector>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Each rank sums at these lines of train.cc, one after the other.
Report sum_at(const std::vector<std::vector<std::uint32_t>>& lines) {
  return run(static_cast<int>(lines.size()), [&lines](SimulatedRank& rank) {
    float value = 1;
    for (const std::uint32_t line : lines[static_cast<std::size_t>(rank.rank())])
      rank.root()->all_reduce(view_of(value), ReduceOperation::sum, {},
                              CallSite::at("train.cc", line));
  });
}

TEST(CallPartings, CallsThatOneMakesTheOtherWayRoundAreTold) {
  const Report report = sum_at({{5, 7, 8}, {5, 7, 8}, {5, 8, 7}});
  EXPECT_TRUE(report.holds()) << "the program may mean it";
  ASSERT_EQ(report.crossed_calls.size(), 1U);
  const CrossedCalls& crossed = report.crossed_calls[0];
  EXPECT_THAT(crossed.most.ranks, ElementsAre(0, 1));
  EXPECT_EQ(to_string(crossed.most.location), "train.cc:7");
  EXPECT_EQ(to_string(crossed.most.call), "all_reduce #1 sum f32[]");
  EXPECT_EQ(to_string(crossed.most.gang), "root[0-2]");
  EXPECT_THAT(crossed.others.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(crossed.others.location), "train.cc:8");
  EXPECT_EQ(crossed.others.call.sequence, 1U);
  EXPECT_EQ(crossed.second, 2U);
}

TEST(CallPartings, TheMinorityIsNamedWhereverItIs) {
  const Report report = sum_at({{8, 7}, {7, 8}, {7, 8}});
  ASSERT_EQ(report.crossed_calls.size(), 1U);
  EXPECT_THAT(report.crossed_calls[0].others.ranks, ElementsAre(0));
  EXPECT_EQ(to_string(report.crossed_calls[0].others.location), "train.cc:8");
}

TEST(CallPartings, OneThatComesAnIterationEarlierIsTold) {
  const Report report = sum_at({{7, 7, 7, 8}, {7, 7, 8, 7}});
  ASSERT_EQ(report.crossed_calls.size(), 1U);
  EXPECT_EQ(report.crossed_calls[0].most.call.sequence, 2U);
  EXPECT_EQ(report.crossed_calls[0].second, 3U);
}

TEST(CallPartings, OtherCallsMayComeInBetween) {
  EXPECT_EQ(sum_at({{7, 1, 2, 8}, {8, 1, 2, 7}, {7, 1, 2, 8}}).crossed_calls.size(), 1U);
}

TEST(CallPartings, APairOfPlacesIsToldOnce) {
  EXPECT_EQ(sum_at({{7, 8, 7, 8}, {8, 7, 8, 7}}).crossed_calls.size(), 1U);
  EXPECT_EQ(sum_at({{7, 8, 9, 10}, {8, 7, 10, 9}}).crossed_calls.size(), 2U);
}

// Ranks may have places of their own, or take turns at one.
TEST(CallPartings, PlacesThatAreNotSwappedAreNotTold) {
  EXPECT_THAT(sum_at({{7, 8}, {7, 8}}).crossed_calls, IsEmpty());
  EXPECT_THAT(sum_at({{7, 8}, {17, 18}}).crossed_calls, IsEmpty());
  EXPECT_THAT(sum_at({{7, 7}, {8, 8}}).crossed_calls, IsEmpty());
  EXPECT_THAT(sum_at({{7, 8}, {8, 9}}).crossed_calls, IsEmpty());
  EXPECT_THAT(sum_at({{7, 8, 8}, {8, 7, 8}, {8, 8, 7}}).crossed_calls, IsEmpty());
  EXPECT_THAT(sum_at({{7, 8}, {8, 9}, {9, 7}}).crossed_calls, IsEmpty());
}

TEST(CallPartings, PlacesThatAreNotKnownAreNotTold) {
  EXPECT_THAT(sum_at({{7, 0}, {0, 7}}).crossed_calls, IsEmpty());
}

TEST(CallPartings, OperationsOfDifferentKindsAreNotCompared) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const bool is_first = rank.rank() == 0;
    float value = 1;
    std::vector<float> all(2);
    rank.root()->all_reduce(view_of(value), ReduceOperation::sum, {},
                            CallSite::at("train.cc", is_first ? 7 : 8));
    rank.root()->all_gather(view(all), view_of(value), {},
                            CallSite::at("train.cc", is_first ? 8 : 7));
  });
  EXPECT_THAT(report.crossed_calls, IsEmpty());
}

TEST(CallPartings, RootsMayTakeTurnsAndBarriersMixNothing) {
  const Report report = run(2, [](SimulatedRank& rank) {
    float value = 1;
    for (const int root : {0, 1})
      rank.root()->broadcast(view_of(value), root, {},
                             CallSite::at("train.cc", rank.rank() == root ? 7 : 8));
    for (const int turn : {0, 1})
      rank.root()->barrier({}, CallSite::at("train.cc", rank.rank() == turn ? 7 : 8));
  });
  EXPECT_THAT(report.crossed_calls, IsEmpty());
}

}  // namespace
}  // namespace gang::sim
