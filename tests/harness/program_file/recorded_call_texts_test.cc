#include "harness/program_file/recorded_call_texts.h"

#include <gtest/gtest.h>

#include "tests/harness/recording/recording_testing.h"

namespace gang::harness::program_file {
namespace {

RecordedGroup group(const std::string& name, const std::string& key, std::vector<int> ranks) {
  return {.name = name, .key = key, .ranks = std::move(ranks)};
}

TEST(RecordedGangs, GroupsOfOneAxisAreOneGang) {
  Recording recording;
  recording.ranks.resize(4);
  recording.groups = {group("root", "0", {0, 1, 2, 3}), group("mesh_tp", "1", {0, 1}),
                      group("mesh_tp", "2", {2, 3}),    group("mesh_tp", "3", {1, 2}),
                      group("wait", "4", {0, 3}),       group("group 5", "5", {0, 2}),
                      group("group 6", "6", {1, 3}),    group("group 7", "7", {3})};
  const RecordedGangs gangs(recording);
  EXPECT_TRUE(gangs.is_root(0));
  EXPECT_EQ(gangs.name_of(0), "root");
  EXPECT_EQ(gangs.name_of(1), "mesh_tp");
  EXPECT_EQ(gangs.name_of(2), "mesh_tp");
  EXPECT_EQ(gangs.name_of(3), "mesh_tp_2");
  EXPECT_EQ(gangs.name_of(4), "gang_wait");
  EXPECT_EQ(gangs.name_of(5), "group");
  EXPECT_EQ(gangs.name_of(6), "group");
  EXPECT_EQ(gangs.name_of(7), "group_2");
  EXPECT_EQ(gangs.declared().front().rank_lists, (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
}

TEST(RecordedGangs, OnlyAGroupOfTheWholeWorldIsTheRoot) {
  Recording recording;
  recording.ranks.resize(4);
  recording.groups = {group("root", "0", {0, 1})};
  const RecordedGangs gangs(recording);
  EXPECT_FALSE(gangs.is_root(0));
  EXPECT_NE(gangs.name_of(0), "root");
}

TEST(RecordedGangs, GroupsWithoutNamesAreOfOneAxisIfTheirSizesAgree) {
  Recording recording;
  recording.ranks.resize(4);
  recording.groups = {group("group 1", "1", {0, 1}), group("group 2", "2", {2}),
                      group("group 3", "3", {2, 3})};
  const RecordedGangs gangs(recording);
  EXPECT_EQ(gangs.name_of(0), gangs.name_of(2));
  EXPECT_NE(gangs.name_of(0), gangs.name_of(1));
}

// The text of what rank 1 of 4 did.
std::string text_of(const Collective& call, PeerText peers = PeerText::number) {
  Recording recording;
  recording.ranks.resize(4);
  recording.groups = {group("root", "0", {0, 1, 2, 3})};
  const std::uint32_t index =
      recording.calls.index_of(call, call.call_site.line() == 0 ? "" : "a/train.py");
  const RecordedGangs gangs(recording);
  RecordedCallTexts texts(recording, gangs, peers);
  const RecordedStep step{.call = index};
  EXPECT_EQ(texts.index_of(step, 1), texts.index_of(step, 1));
  return texts[texts.index_of(step, 1)];
}

TEST(RecordedCallTexts, AreCallsOfProgramFiles) {
  Collective call{.kind = OperationKind::all_reduce, .shape = Shape::vector(8)};
  call.reduce_operation = unknown_reduce_operation;
  EXPECT_EQ(text_of(call), "root all_reduce sum f32[8]");
  call.kind = OperationKind::broadcast;
  call.peer = 2;
  call.label = "say \"a\"";
  EXPECT_EQ(text_of(call), "root broadcast f32[8] root 2 label \"say 'a'\"");
  EXPECT_EQ(text_of({.kind = OperationKind::barrier}), "root barrier");
  EXPECT_EQ(text_of({.kind = OperationKind::barrier, .call_site = CallSite::at("", 7)}),
            "root barrier at \"train.py:7\"");
  EXPECT_EQ(text_of({.kind = OperationKind::split}), "root barrier label \"split\"");
}

TEST(RecordedCallTexts, APeerIsANumberOrADistance) {
  Collective call{.kind = OperationKind::recv, .peer = 0, .tag = 7, .shape = Shape::vector(8)};
  EXPECT_EQ(text_of(call), "root recv f32[8] from 0 tag 7");
  EXPECT_EQ(text_of(call, PeerText::distance), "root recv f32[8] from (rank + 3) % world tag 7");
  call.peer = any_rank;
  call.tag = any_tag;
  EXPECT_EQ(text_of(call, PeerText::distance), "root recv f32[8] from any tag any");
}

TEST(RecordedCallTexts, UnevenCountsAreNotCompared) {
  Collective call{.kind = OperationKind::all_to_all, .shape = Shape::vector(10)};
  EXPECT_EQ(text_of(call), "root all_to_all f32[4]");
  call.count = 10;
  EXPECT_EQ(text_of(call), "root all_to_all f32[4]");
  call.count = 8;
  call.shape = Shape::vector(8);
  EXPECT_EQ(text_of(call), "root all_to_all f32[8]");
}

TEST(RecordedCallTexts, ADistanceIsOneBetweenRanksOfTheWorld) {
  Recording recording;
  recording.ranks.resize(4);
  recording.groups = {group("half", "0", {0, 2})};
  const Collective call{.kind = OperationKind::recv, .peer = 0, .shape = Shape::vector(8)};
  const RecordedStep step{.call = recording.calls.index_of(call, "")};
  const RecordedGangs gangs(recording);
  RecordedCallTexts texts(recording, gangs, PeerText::distance);
  EXPECT_EQ(texts[texts.index_of(step, 2)], "half recv f32[8] from 0");
}

TEST(RecordedCallTexts, EachBatchHasItsOwnMessages) {
  Recording recording;
  recording.ranks.resize(4);
  const auto message_to = [&recording](int peer) {
    return recording.calls.index_of(
        {.kind = OperationKind::send, .peer = peer, .shape = Shape::vector(8)}, "");
  };
  RecordedStep step{.call = recording.calls.index_of({.kind = OperationKind::batch}, "")};
  recording.groups = {group("root", "0", {0, 1, 2, 3})};
  const RecordedGangs gangs(recording);
  std::vector<std::string> written;
  const std::vector<std::uint32_t> messages = {message_to(2), message_to(3)};
  RecordedCallTexts texts(recording, gangs, PeerText::number);
  for (const std::uint32_t message : messages) {
    step.batch = {message};
    written.push_back(texts[texts.index_of(step, 1)]);
  }
  EXPECT_EQ(written, (std::vector<std::string>{"root batch send f32[8] to 2",
                                               "root batch send f32[8] to 3"}));
}

TEST(RecordedCallTexts, ARootIsNamedUnlessItIsRank0) {
  Collective call{.kind = OperationKind::broadcast, .peer = 1, .shape = Shape::vector(8)};
  EXPECT_EQ(text_of(call), "root broadcast f32[8] root 1");
  call.peer = 0;
  EXPECT_EQ(text_of(call), "root broadcast f32[8]");
}

}  // namespace
}  // namespace gang::harness::program_file
