#include "sim/report/fix.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

Finding finding_of(std::string_view id, const std::string& kind, std::vector<int> ranks = {1, 2}) {
  Finding finding{.id = std::string(id), .ranks = std::move(ranks)};
  finding.call.kind = kind;
  return finding;
}

TEST(Fix, OfACollectiveIsThatOfItsId) {
  for (const std::string_view id : {finding_id::participant_missing, finding_id::mismatch_count,
                                    finding_id::mismatch_gang, finding_id::cross_gang_cycle})
    EXPECT_EQ(fix_for(finding_of(id, "all_reduce")), fix_for(id));
  EXPECT_EQ(fix_for(finding_of("no_finding", "send")), "");
}

TEST(Fix, OfAMessageIsAboutItsOtherSide) {
  EXPECT_EQ(fix_for(finding_of(finding_id::participant_missing, "send")),
            "receive it on the other rank, or do not send it");
  EXPECT_EQ(fix_for(finding_of(finding_id::participant_missing, "recv")),
            "send it from another rank, or do not receive it");
  for (const std::string_view id :
       {finding_id::mismatch_count, finding_id::mismatch_data_type, finding_id::mismatch_gang}) {
    EXPECT_NE(fix_for(finding_of(id, "recv")), fix_for(id));
    EXPECT_EQ(fix_for(finding_of(id, "recv")), fix_for(finding_of(id, "send")));
  }
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_tag, "send")),
            fix_for(finding_id::mismatch_tag));
}

TEST(Fix, OfArgumentsAtTwoPlacesIsTheOrderToo) {
  Finding finding = finding_of(finding_id::mismatch_data_type, "all_gather");
  const CallSummary here{.call = {.kind = "all_gather"}, .location = {"train.py", 28, "step"}};
  CallSummary there = here;
  finding.divergence = Divergence{.next = {here, there}};
  EXPECT_EQ(fix_for(finding), "pass the same data type on every member");
  there.location.line = 41;
  finding.divergence->next[1] = there;
  EXPECT_EQ(fix_for(finding),
            "call the same operations in the same order, with the same data type");
  finding.divergence->next[1].location = {};  // unknown
  EXPECT_EQ(fix_for(finding), fix_for(finding_id::mismatch_data_type));
}

TEST(Fix, OfAnAllToAllIsThatItsPairsFit) {
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_count, "all_to_all")),
            "receive from each rank as many elements as it sends");
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_data_type, "all_to_all")),
            fix_for(finding_id::mismatch_data_type));
}

TEST(Fix, OfAMessageToItselfIsNotAnOrderOfTwoRanks) {
  const std::string_view cycle = finding_id::point_to_point_cycle;
  EXPECT_EQ(fix_for(finding_of(cycle, "send", {3})),
            "copy the buffer, or start send and receive before the waits");
  EXPECT_EQ(fix_for(finding_of(cycle, "send")), fix_for(cycle));
}

TEST(Fix, OfACycleOfReceivesIsASend) {
  const std::string_view cycle = finding_id::point_to_point_cycle;
  EXPECT_EQ(fix_for(finding_of(cycle, "recv")), "let one side send first, or use batch");
  EXPECT_EQ(fix_for(finding_of(cycle, "recv", {3})), fix_for(finding_of(cycle, "send", {3})));
}

TEST(Fix, OfABatchIsAboutBatches) {
  EXPECT_EQ(fix_for(finding_of(finding_id::point_to_point_cycle, "batch")),
            "order the batches so that each send meets its receive");
  EXPECT_EQ(fix_for(finding_of(finding_id::participant_missing, "batch")),
            "give each send of a batch its receive on the other rank, and vice versa");
}

TEST(Fix, OfAMessageSaysWhatIsToBeReceived) {
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_count, "recv")),
            "receive as many elements as are sent");
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_data_type, "recv")),
            "receive the data type that is sent");
  EXPECT_EQ(fix_for(finding_of(finding_id::mismatch_gang, "recv")), "send and receive on one gang");
}

TEST(Fix, OfArgumentsAtTwoPlacesNamesTheArgument) {
  const auto fix_of = [](std::string_view id, const std::string& kind) {
    Finding finding = finding_of(id, kind);
    finding.divergence = Divergence{
        .next = {{.location = {"train.py", 28, "step"}}, {.location = {"train.py", 41, "step"}}}};
    return std::string(fix_for(finding));
  };
  const std::string order = "call the same operations in the same order, with the same ";
  EXPECT_EQ(fix_of(finding_id::mismatch_count, "all_reduce"), order + "number of elements");
  EXPECT_EQ(fix_of(finding_id::mismatch_count, "all_to_all"), order + "number of elements");
  EXPECT_EQ(fix_of(finding_id::mismatch_data_type, "all_reduce"), order + "data type");
  EXPECT_EQ(fix_of(finding_id::mismatch_reduce_operation, "all_reduce"),
            order + "reduce operation");
  EXPECT_EQ(fix_of(finding_id::mismatch_root, "broadcast"), order + "root");
  EXPECT_EQ(fix_of(finding_id::mismatch_tag, "all_reduce"), fix_for(finding_id::mismatch_tag));
}

}  // namespace
}  // namespace gang::sim
