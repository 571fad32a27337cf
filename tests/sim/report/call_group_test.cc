#include "sim/report/call_group.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

CallText send_to(int peer) {
  return {.kind = "send", .direction = CallText::Direction::to, .peer = peer};
}

// Every rank sends to the next one, on a gang of the two.
std::vector<BlockedCall> ring(int size) {
  std::vector<BlockedCall> blocked;
  for (int rank = 0; rank < size; ++rank)
    blocked.push_back({.rank = rank,
                       .gang = {"pp", std::to_string(rank)},
                       .call = send_to((rank + 1) % size),
                       .waits_for = {(rank + 1) % size},
                       .waits_for_count = 1});
  return blocked;
}

std::vector<const BlockedCall*> pointers_to(const std::vector<BlockedCall>& blocked) {
  std::vector<const BlockedCall*> calls;
  for (const BlockedCall& call : blocked) calls.push_back(&call);
  return calls;
}

std::size_t groups_of(const std::vector<BlockedCall>& blocked, CallSharing sharing) {
  return group_calls(pointers_to(blocked), sharing).size();
}

TEST(CallGroup, TheRankAndItsCallStackTellNothingApart) {
  std::vector<BlockedCall> blocked(2);
  blocked[1].rank = 1;
  blocked[1].call_stack = {{.function = "main"}};
  EXPECT_EQ(groups_of(blocked, CallSharing::all_but_rank), 1U);
  const std::vector<CallGroup> groups =
      group_calls(pointers_to(blocked), CallSharing::all_but_rank);
  EXPECT_THAT(groups.at(0).ranks(), ElementsAre(0, 1));
}

TEST(CallGroup, EveryOtherFieldTellsTwoCallsApart) {
  const std::vector<void (*)(BlockedCall&)> changes = {
      [](BlockedCall& call) { call.context = "loader"; },
      [](BlockedCall& call) { call.gang.members = "1"; },
      [](BlockedCall& call) { call.call.kind = "sleep"; },
      [](BlockedCall& call) { call.location = {"a.cc", 1}; },
      [](BlockedCall& call) { call.waits_for = {1}; },
      [](BlockedCall& call) { call.waits_for_count = 1; },
      [](BlockedCall& call) { call.waits_for_any = true; },
      [](BlockedCall& call) { call.would_time_out_after_ns = 1; },
      [](BlockedCall& call) { call.is_core = false; },
      [](BlockedCall& call) { call.behind = QueuedBehind{}; }};
  for (const auto change : changes) {
    std::vector<BlockedCall> blocked(2);
    change(blocked[1]);
    EXPECT_EQ(groups_of(blocked, CallSharing::all_but_rank), 2U);
  }
}

TEST(CallGroup, SharesLessAndLess) {
  const std::vector<BlockedCall> blocked = ring(8);
  EXPECT_EQ(groups_of(blocked, CallSharing::waits), 8U);
  EXPECT_EQ(groups_of(blocked, CallSharing::gang_name), 8U);
  EXPECT_EQ(groups_of(blocked, CallSharing::any_peer), 1U);
  std::vector<BlockedCall> other = ring(2);
  other[1].call.payload = "f32[4]";
  EXPECT_EQ(groups_of(other, CallSharing::any_peer), 2U);
  EXPECT_EQ(groups_of(other, CallSharing::kind), 1U);
}

TEST(CallGroup, AreAtMostAsManyAsRequestedIfPossible) {
  const std::vector<BlockedCall> blocked = ring(8);
  EXPECT_EQ(group_calls(pointers_to(blocked), CallSharing::any_peer, 8).size(), 8U);
  EXPECT_EQ(group_calls(pointers_to(blocked), CallSharing::any_peer, 7).size(), 1U);
  EXPECT_EQ(group_calls(pointers_to(blocked), CallSharing::gang_name, 7).size(), 8U);
}

TEST(CallGroup, SaysWhatItsCallsHaveInCommon) {
  std::vector<BlockedCall> blocked = ring(4);
  for (BlockedCall& call : blocked) call.behind = {call.gang, call.call, "a.cc:1"};
  const CallGroup group = group_calls(pointers_to(blocked), CallSharing::any_peer).at(0);
  EXPECT_EQ(group.call, with_any_peer(send_to(0)));
  EXPECT_EQ(group.behind, (QueuedBehind{{"pp", ""}, with_any_peer(send_to(0)), "a.cc:1"}));
  EXPECT_EQ(group.gang_text(), "pp (4 gangs)");
  EXPECT_FALSE(group.is_alike);
  EXPECT_EQ(waits_text(group, 3), "");
}

TEST(CallGroup, NamesTheRanksItWaitsFor) {
  BlockedCall call{.gang = {"root", "0-9"}, .waits_for = {1, 2, 5}, .waits_for_count = 9};
  const CallGroup group = group_calls({&call}, CallSharing::waits).at(0);
  EXPECT_EQ(group.gang_text(), "root[0-9]");
  EXPECT_EQ(waits_text(group, 3), "1-2,5,...");
  EXPECT_EQ(waits_text(group, 1), "1-2,...");
}

}  // namespace
}  // namespace gang::sim
