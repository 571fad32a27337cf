#include "harness/explanation/grouped_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using sim::BlockedCall;
using sim::Report;
using testing::ElementsAre;

CallText barrier(std::uint64_t sequence) { return {.kind = "barrier", .sequence = sequence}; }

CallText send_to(int peer) {
  return {.kind = "send", .payload = "f32[4]", .direction = CallText::Direction::to, .peer = peer};
}

BlockedCall blocked_in(int rank, GangLabel gang, CallText called, std::vector<int> waits_for) {
  BlockedCall call{.rank = rank, .gang = std::move(gang), .call = std::move(called)};
  call.location = {"train.cc", 7};
  call.waits_for_count = waits_for.size();
  call.waits_for = std::move(waits_for);
  return call;
}

// Every rank but `absent` waits for it in a barrier.
Report barrier_without(int world_size, int absent) {
  Report report{.outcome = sim::Outcome::deadlock};
  for (int rank = 0; rank < world_size; ++rank)
    if (rank != absent)
      report.blocked.push_back(blocked_in(rank, {"root", "0-3"}, barrier(1), {absent}));
  return report;
}

TEST(GroupedWaits, AreEmptyForARunThatCompleted) {
  const Report report;
  EXPECT_TRUE(group_waits(report).nodes.empty());
}

TEST(GroupedWaits, WhoIsNotBlockedHasANodeToo) {
  const Report report = barrier_without(4, 1);
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 2U);
  EXPECT_THAT(waits.nodes[0].ranks, ElementsAre(0, 2, 3));
  EXPECT_FALSE(waits.nodes[1].is_blocked());
  EXPECT_THAT(waits.nodes[1].ranks, ElementsAre(1));
  EXPECT_EQ(waits.nodes[1].note, "not blocked");
  EXPECT_THAT(waits.edges, ElementsAre(WaitEdge{0, 1}));
}

TEST(GroupedWaits, DifferentCallsAreDifferentNodes) {
  Report report{.outcome = sim::Outcome::deadlock};
  report.blocked = {blocked_in(0, {"root", "0-3"}, barrier(0), {2}),
                    blocked_in(1, {"root", "0-3"}, barrier(1), {2}),
                    blocked_in(2, {"root", "0-3"}, barrier(0), {1}),
                    blocked_in(3, {"dp", "0-3"}, barrier(0), {2})};
  EXPECT_EQ(group_waits(report).nodes.size(), 4U);
}

TEST(GroupedWaits, AnyNumberInTheSameCallShareANode) {
  const Report report = barrier_without(100'000, 70);
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 2U);
  EXPECT_EQ(waits.nodes[0].ranks.size(), 99'999U);
  EXPECT_TRUE(waits.nodes[0].group->is_alike);
  EXPECT_THAT(waits.edges, ElementsAre(WaitEdge{0, 1}));
}

TEST(GroupedWaits, GangsOfOneNameShareANodeWhereThereAreMany) {
  Report report{.outcome = sim::Outcome::deadlock};
  for (int rank = 0; rank < 200; ++rank) {
    const std::string members = std::to_string(rank) + "," + std::to_string(rank ^ 1);
    report.blocked.push_back(blocked_in(rank, {"tp", members}, barrier(0), {rank ^ 1}));
  }
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 1U);
  EXPECT_EQ(waits.nodes[0].group->gang_text(), "tp (200 gangs)");
  EXPECT_FALSE(waits.nodes[0].group->is_alike);
  EXPECT_THAT(waits.edges, ElementsAre(WaitEdge{0, 0}));
}

TEST(GroupedWaits, MessagesToDifferentPeersShareANodeWhereThereAreMany) {
  Report report{.outcome = sim::Outcome::deadlock};
  for (int rank = 0; rank < 200; ++rank) {
    const int next = (rank + 1) % 200;
    report.blocked.push_back(blocked_in(rank, {"root", "0-199"}, send_to(next), {next}));
  }
  EXPECT_EQ(group_waits(report).nodes.size(), 1U);
}

TEST(GroupedWaits, TheCoreComesFirst) {
  Report report{.outcome = sim::Outcome::deadlock};
  report.blocked = {blocked_in(0, {"root", "0-3"}, barrier(0), {1}),
                    blocked_in(1, {"dp", "0-3"}, barrier(0), {2}),
                    blocked_in(2, {"tp", "0-3"}, barrier(0), {1})};
  report.blocked[0].is_core = false;
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 3U);
  EXPECT_THAT(waits.nodes[0].ranks, ElementsAre(1));
  EXPECT_THAT(waits.nodes[2].ranks, ElementsAre(0));
  EXPECT_THAT(waits.edges, ElementsAre(WaitEdge{0, 1}, WaitEdge{1, 0}, WaitEdge{2, 0}));
}

TEST(GroupedWaits, RanksThatAreNotBlockedSayWhatTheyDidInstead) {
  Report report = barrier_without(3, 2);
  report.findings.push_back(
      {.divergence =
           sim::Divergence{.next = {{.ranks = {0, 1}, .call = {.kind = "barrier", .sequence = 1}},
                                    {.ranks = {2}, .note = "returned"}}}});
  EXPECT_EQ(group_waits(report).nodes.back().note, "returned");
}

TEST(GroupedWaits, TheTimelineKnowsHowRanksEnded) {
  Report report = barrier_without(3, 2);
  report.timeline.lanes = {{.ranks = {2}, .context = "loader", .end = sim::LaneEnd::returned},
                           {.ranks = {2}, .end = sim::LaneEnd::failed}};
  EXPECT_EQ(group_waits(report).nodes.back().note, "ended with an exception");
}

TEST(GroupedWaits, ARingOfMessagesIsOneNodeThatNamesNoPeer) {
  Report report{.outcome = sim::Outcome::deadlock};
  for (int rank = 0; rank < 64; ++rank)
    report.blocked.push_back(
        blocked_in(rank, {"root", "0-63"}, send_to((rank + 1) % 64), {(rank + 1) % 64}));
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 1U);
  EXPECT_EQ(to_string(waits.nodes[0].group->call), "send f32[4] to one rank each");
}

TEST(GroupedWaits, ANodeHasTheFirstCallStackThatIsKnown) {
  Report report = barrier_without(5, 4);
  report.blocked[1].call_stack = {{"first.cc", 1}};
  report.blocked[2].call_stack = {{"second.cc", 2}};
  EXPECT_THAT(group_waits(report).nodes[0].call_stack, ElementsAre(SourceLocation{"first.cc", 1}));
}

TEST(GroupedWaits, WhoIsWaitedForTwiceIsThereOnce) {
  Report report{.outcome = sim::Outcome::deadlock};
  report.blocked = {blocked_in(0, {"root", "0-3"}, barrier(0), {3}),
                    blocked_in(1, {"dp", "0-3"}, barrier(0), {3, 2})};
  EXPECT_THAT(group_waits(report).nodes.back().ranks, ElementsAre(2, 3));
}

// Two contexts of one rank in the same call.
TEST(GroupedWaits, ARankDoesNotWaitForItself) {
  Report report{.outcome = sim::Outcome::deadlock};
  report.blocked = {blocked_in(0, {"root", "0-3"}, barrier(0), {0, 3})};
  EXPECT_THAT(group_waits(report).edges, ElementsAre(WaitEdge{0, 1}));
}

TEST(GroupedWaits, WhereRanksPartedSaysMoreThanHowTheyEnded) {
  Report report = barrier_without(3, 2);
  report.findings.push_back(
      {.divergence = sim::Divergence{
           .next = {{.ranks = {0, 1}, .call = {.kind = "barrier", .sequence = 1}},
                    {.ranks = {2}, .note = "ended with an exception: out of memory"}}}});
  report.timeline.lanes = {{.ranks = {2}, .end = sim::LaneEnd::failed}};
  EXPECT_EQ(group_waits(report).nodes.back().note, "ended with an exception: out of memory");
}

TEST(GroupedWaits, ANodeWaitsForWhatAnyOfItsCallsWaitsFor) {
  Report report{.outcome = sim::Outcome::deadlock};
  for (int rank = 0; rank < 200; ++rank) {
    const std::string members = std::to_string(rank) + "," + std::to_string(rank ^ 1);
    report.blocked.push_back(blocked_in(rank, {"tp", members}, barrier(0), {rank ^ 1}));
  }
  report.blocked[70].waits_for.push_back(300);
  const GroupedWaits waits = group_waits(report);
  ASSERT_EQ(waits.nodes.size(), 2U);
  EXPECT_THAT(waits.nodes[1].ranks, ElementsAre(300));
  EXPECT_THAT(waits.edges, ElementsAre(WaitEdge{0, 0}, WaitEdge{0, 1}));
}

}  // namespace
}  // namespace gang::harness
