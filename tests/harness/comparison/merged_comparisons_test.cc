#include "harness/comparison/merged_comparisons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using testing::HasSubstr;

AgreementReport agreement(std::uint64_t index, std::uint64_t count) {
  return {.program = "random",
          .world_size = 3,
          .left_verdict = "completed",
          .right_verdict = "completed",
          .outputs = 10,
          .left_time = Duration(5),
          .right_time = Duration(7),
          .reproduce = "gangsim compare --random --cases 30",
          .seed = 4,
          .cases = 30,
          .shard = {index, count}};
}

AgreementReport read_again(const AgreementReport& report) {
  return agreement_report_from_json(json::parse(to_json(report).dump()));
}

TEST(MergedComparisons, AnAgreementIsReadBack) {
  AgreementReport report = agreement(1, 3);
  report.difference = Difference{2, "case 7", 3, "0.5", "0.25"};
  report.left_text = "It is so.";
  report.allowed_units = 4;
  EXPECT_EQ(to_json(read_again(report)), to_json(report));
  json broken = to_json(report);
  broken["verdicts"] = json::array({"completed"});
  EXPECT_THAT([&broken] { agreement_report_from_json(broken); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("field verdicts has 1 elements; must be 2")));
}

TEST(MergedComparisons, AgreeWhereAllShardsDo) {
  for (std::uint64_t count = 1; count <= 16; ++count) {
    std::vector<AgreementReport> shards;
    for (std::uint64_t index = 0; index < count; ++index)
      shards.push_back(read_again(agreement(index, count)));
    shards.back().allowed_units = 4;
    const AgreementReport whole = merged(shards);
    EXPECT_TRUE(whole.agrees());
    EXPECT_EQ(whole.outputs, 10 * count);
    EXPECT_EQ(whole.allowed_units, 4);
    EXPECT_EQ(whole.right_time, Duration(7 * count));
    EXPECT_EQ(whole.shard, Shard{});
    EXPECT_FALSE(to_junit(whole).cases.front().failure);
  }
}

TEST(MergedComparisons, TheFirstDifferenceIsThatOfTheLowestRank) {
  std::vector<AgreementReport> shards = {agreement(0, 3), agreement(1, 3), agreement(2, 3)};
  shards[1].difference = Difference{.rank = 2, .output = "case 12"};
  shards[1].reproduce = "gangsim compare --random --cases 30 --shard 1/3";
  shards[2].difference = Difference{.rank = 1, .output = "case 25"};
  const AgreementReport whole = merged(shards);
  EXPECT_FALSE(whole.agrees());
  EXPECT_EQ(whole.difference->output, "case 25");
  EXPECT_EQ(whole.reproduce, shards[1].reproduce);
  EXPECT_TRUE(to_junit(whole).cases.front().failure);
}

TEST(MergedComparisons, TheVerdictIsThatOfTheFirstCaseThatDoesNotComplete) {
  std::vector<AgreementReport> shards = {agreement(0, 3), agreement(1, 3), agreement(2, 3)};
  shards[1].left_verdict = "stuck";
  shards[2].left_verdict = "failed";
  const AgreementReport whole = merged(shards);
  EXPECT_EQ(whole.left_verdict, "stuck");
  EXPECT_EQ(whole.right_verdict, "completed");
  EXPECT_FALSE(whole.agrees());
}

// Cases 0 to 19, of which `broken` is not contained, as shards.
FaultedProcessesReport faulted(const Shard& shard, std::uint64_t broken) {
  FaultedProcessesReport report{.program = "ring",
                                .world_size = 3,
                                .seed = 4,
                                .timeout = std::chrono::seconds(1),
                                .faults = "kill",
                                .reproduce = "all",
                                .planned_cases = 20,
                                .shard = shard};
  const Shard::Block block = shard.block_of(20);
  for (std::uint64_t index = block.first; index < block.first + block.count; ++index) {
    FaultedCase& one = report.cases.emplace_back(FaultedCase{.index = index,
                                                             .faults = {"rank 1 is killed"},
                                                             .left_out = {{"crash", 1}},
                                                             .fired = 1,
                                                             .ends = {{"aborted", 2}},
                                                             .slowest = Duration(index),
                                                             .slowest_error = "late"});
    if (index != broken) continue;
    one.problems = {"rank 2 hung"};
    report.reproduce = "case " + std::to_string(index);
  }
  return report;
}

TEST(MergedComparisons, CasesWithFaultsAreThoseOfOneRun) {
  constexpr std::uint64_t none = 99;
  for (const std::uint64_t broken : {none, std::uint64_t{13}}) {
    const FaultedProcessesReport one = faulted({}, broken);
    for (std::uint64_t count = 1; count <= 16; ++count) {
      std::vector<FaultedProcessesReport> shards;
      for (std::uint64_t index = 0; index < count; ++index)
        shards.push_back(faulted_processes_from_json(
            json::parse(to_json(faulted({index, count}, broken)).dump())));
      EXPECT_EQ(to_json(merged(shards)), to_json(one)) << count << " shards";
      EXPECT_EQ(to_string(merged(shards)), to_string(one));
    }
    EXPECT_EQ(to_junit(one).cases.front().failure.has_value(), broken != none);
  }
  EXPECT_EQ(to_junit(faulted({}, 13)).cases.front().failure->message, "case 13: rank 2 hung");
}

TEST(MergedComparisons, AFailureWithoutFaultsStaysOne) {
  FaultedProcessesReport failed = faulted({0, 2}, 99);
  failed.clean_failure = "rank 0: no";
  const FaultedProcessesReport read =
      faulted_processes_from_json(json::parse(to_json(failed).dump()));
  EXPECT_EQ(read.clean_failure, "rank 0: no");
  EXPECT_FALSE(merged({faulted({1, 2}, 99), read}).holds());
  EXPECT_EQ(merged({read, faulted({1, 2}, 99)}).clean_failure, "rank 0: no");
}

TEST(MergedComparisons, OfOneRankTheFirstDifferenceIsThatOfTheFirstShard) {
  std::vector<AgreementReport> shards = {agreement(0, 2), agreement(1, 2)};
  shards[0].difference = Difference{.rank = 1, .output = "case 2"};
  shards[1].difference = Difference{.rank = 1, .output = "case 25"};
  EXPECT_EQ(merged(shards).difference->output, "case 2");
}

TEST(MergedComparisons, KeepTheProblemsOfTheFirstShardThatHasAny) {
  std::vector<AgreementReport> shards = {agreement(0, 3), agreement(1, 3), agreement(2, 3)};
  shards[1].left_text = "left of 1";
  shards[1].right_text = "right of 1";
  shards[2].left_text = "left of 2";
  shards[2].right_text = "right of 2";
  const AgreementReport whole = merged(shards);
  EXPECT_EQ(whole.left_text, "left of 1");
  EXPECT_EQ(whole.right_text, "right of 1");
}

TEST(MergedComparisons, APairHasTwo) {
  json broken = to_json(agreement(0, 1));
  broken["verdicts"] = {"completed", "completed", "completed"};
  EXPECT_THAT([&broken] { agreement_report_from_json(broken); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("field verdicts has 3 elements; must be 2")));
}

TEST(MergedComparisons, AsJunitTellTheTimeOfBothAndTheFirstProblem) {
  EXPECT_EQ(to_junit(agreement(0, 1)).cases.front().time, Duration(5 + 7));
  FaultedProcessesReport failed = faulted({0, 2}, 5);
  failed.clean_failure = "rank 0: no";
  EXPECT_EQ(to_junit(failed).cases.front().failure.value().message, "rank 0: no");
}

TEST(MergedComparisons, TheLargestToleranceIsTold) {
  std::vector<AgreementReport> shards = {agreement(0, 2), agreement(1, 2)};
  shards[0].allowed_units = 4;
  shards[1].allowed_units = 2;
  EXPECT_EQ(merged(shards).allowed_units, 4);
}

}  // namespace
}  // namespace gang::harness
