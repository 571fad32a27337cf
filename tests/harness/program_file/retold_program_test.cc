#include "harness/program_file/retold_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/document.h"
#include "harness/run/runner.h"
#include "tests/harness/recording/recording_testing.h"

namespace gang::harness::program_file {
namespace {

using ::testing::HasSubstr;

constexpr OperationKind all_reduce = OperationKind::all_reduce;

// Both forms of the program run into the same.
RunResult run_both(const RetoldProgram& retold) {
  Document document = parse_document("again.toml", retold.toml);
  const RunSpecification& specification = document.specification;
  EXPECT_EQ(specification.world_size, retold.world_size);
  EXPECT_EQ(specification.options.execution, retold.execution);
  const RunResult read =
      run(make_program(std::move(document.program_file), {.name = "again"}), specification);
  RunResult direct = run(make_program(retold.file, {.name = "direct"}), specification);
  EXPECT_EQ(read.report.outcome, direct.report.outcome);
  EXPECT_EQ(read.report.counts.rank_operations, direct.report.counts.rank_operations);
  EXPECT_EQ(read.report.findings.size(), direct.report.findings.size());
  for (std::size_t i = 0; i < read.report.findings.size(); ++i) {
    EXPECT_EQ(read.report.findings[i].id, direct.report.findings[i].id);
    EXPECT_EQ(read.report.findings[i].ranks, direct.report.findings[i].ranks);
  }
  return direct;
}

TEST(RetoldProgram, ASkippedCallIsACondition) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  for (int iteration = 0; iteration < 10; ++iteration)
    for (const int rank : {0, 1, 2, 3}) {
      const auto state = iteration > 6 ? scheduled : DumpedState::completed;
      job.call(rank, root, all_reduce, {.state = state, .line = 5});
      if (rank != 2 || iteration != 7)
        job.call(rank, root, OperationKind::barrier, {.state = state, .line = 6});
    }
  const RetoldProgram retold = retell(job.take(), "rec");
  EXPECT_THAT(retold.toml, HasSubstr("# What the ranks of rec called, as recorded.\nworld = 4\n"
                                     "data = false"));
  EXPECT_THAT(retold.toml, HasSubstr("repeat = 7\ncalls = [\n"
                                     "  'root all_reduce sum f32[4] at \"train.py:5\"',\n"
                                     "  'root barrier at \"train.py:6\"',\n]"));
  const RunResult result = run_both(retold);
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].ranks, std::vector{2});
  EXPECT_EQ(result.report.findings[0].id, "mismatch_operation");
}

TEST(RetoldProgram, EverySecondRankMayMakeACall) {
  Job job(6);
  const auto root = job.group("default_pg", {0, 1, 2, 3, 4, 5});
  const auto even = job.group("even", {0, 2, 4});
  for (const int rank : {0, 1, 2, 3, 4, 5}) {
    job.call(rank, root, OperationKind::barrier, {.line = 5});
    if (rank % 2 == 0) job.call(rank, even, all_reduce, {.line = 6});
  }
  const RunResult result = run_both(retell(job.take(), "rec"));
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 6U + 6 + 3);  // the gang is made by all
}

TEST(RetoldProgram, CallsStandWhereTheyWereMade) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, all_reduce, {.state = started, .line = 41});
  const RunResult result = run_both(retell(job.take(), "rec"));
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, "participant_missing");
  EXPECT_EQ(to_string(result.report.blocked.at(0).location), "train.py:41");
}

TEST(RetoldProgram, LaunchOrdersOfNcclStay) {
  Job job(2);
  const auto a = job.group("a", {0, 1});
  const auto b = job.group("b", {0, 1});
  for (const int rank : {0, 1})
    for (const bool first : {true, false})
      job.call(rank, first == (rank == 0) ? a : b, all_reduce, {.state = started});
  const RetoldProgram retold = retell(job.take(), "rec");
  EXPECT_THAT(retold.toml, HasSubstr("[gangs]\na = [[0, 1]]\nb = [[0, 1]]\n"));
  EXPECT_THAT(retold.toml, HasSubstr("[options]\nexecution = \"stream_ordered\"\n"));
  const RunResult result = run_both(retold);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, "stream_order_inversion");
}

TEST(RetoldProgram, LargeTensorsTakeNoRoom) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.calls({0, 1}, root, all_reduce, {.count = std::int64_t{1} << 36});
  EXPECT_TRUE(run_both(retell(job.take(), "rec")).holds());
}

TEST(RetoldProgram, NeighboursAreDistances) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  for (const int rank : {0, 1, 2, 3}) {
    job.call(rank, root, OperationKind::send,
             {.peer = (rank + 1) % 4, .is_gloo = true, .sequence = 1});
    job.call(rank, root, OperationKind::recv,
             {.peer = (rank + 3) % 4, .is_gloo = true, .sequence = 2});
  }
  const RetoldProgram retold = retell(job.take(), "rec");
  EXPECT_THAT(retold.toml, HasSubstr("root start send f32[4] to (rank + 1) % world"));
  EXPECT_TRUE(run_both(retold).holds());
}

TEST(RetoldProgram, WithoutCallsThereIsNone) {
  Job job(2);
  job.group("default_pg", {0, 1});
  EXPECT_THROW(retell(job.take(), "rec"), InvalidArgument);
}

TEST(RetoldProgram, PairsThatDoTheSameAreDistances) {
  Job job(4);
  const auto root = job.group("default_pg", {0, 1, 2, 3});
  for (const int rank : {0, 1, 2, 3})
    job.call(rank, root, rank % 2 == 0 ? OperationKind::send : OperationKind::recv,
             {.peer = rank % 2 == 0 ? rank + 1 : rank - 1});
  EXPECT_THAT(retell(job.take(), "rec").toml, HasSubstr("to (rank + 1) % world"));
}

TEST(RetoldProgram, AMessageLikeNoOtherHasTheNumberOfItsPeer) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  job.call(0, root, OperationKind::send, {.peer = 1});
  job.call(1, root, OperationKind::recv, {.peer = 0});
  EXPECT_THAT(retell(job.take(), "rec").toml, HasSubstr("send f32[4] to 1"));
}

TEST(RetoldProgram, TheRanksOfAnAxisMeetInEachOfItsGangs) {
  Job job(4);
  const auto left = job.group("tp", {0, 1});
  const auto right = job.group("tp", {2, 3});
  job.calls({0, 1}, left, all_reduce);
  job.calls({2, 3}, right, all_reduce);
  const RunResult result = run_both(retell(job.take(), "rec"));
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 8U);  // with those that make the gangs
}

TEST(RetoldProgram, TwoIterationsAreRepeated) {
  Job job(2);
  const auto root = job.group("default_pg", {0, 1});
  for (int iteration = 0; iteration < 2; ++iteration)
    for (const std::uint32_t line : {5U, 6U}) job.calls({0, 1}, root, all_reduce, {.line = line});
  EXPECT_EQ(run_both(retell(job.take(), "rec")).report.counts.rank_operations, 8U);
}

TEST(RetoldProgram, WhatOneRankSkippedItSkipsAgain) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  std::vector<std::uint32_t> own;
  for (const int rank : {0, 1, 2}) own.push_back(job.group("own", {rank}));
  for (int iteration = 0; iteration < 10; ++iteration)
    for (const int rank : {0, 1, 2}) {
      job.call(rank, root, all_reduce);
      if (rank != 2 || iteration != 7)
        job.call(rank, own[static_cast<std::size_t>(rank)], OperationKind::barrier);
    }
  const RunResult result = run_both(retell(job.take(), "rec"));
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 62U);  // with those that make the gangs
}

TEST(RetoldProgram, ALabelMayHaveAnyQuotesAndBackslashes) {
  Job job(1);
  const auto root = job.group("default_pg", {0});
  Collective call{.kind = OperationKind::barrier};
  call.label = R"(it's C:\new)";
  job.call(0, root, OperationKind::barrier);
  job.dump(0).calls.back().call = job.table().index_of(call, "");
  const RetoldProgram retold = retell(job.take(), "rec");
  const Document document = parse_document("again.toml", retold.toml);
  EXPECT_EQ(document.program_file->blocks.at(0).calls.at(0).label, call.label);
  EXPECT_EQ(retold.file->blocks.at(0).calls.at(0).label, call.label);
}

TEST(RetoldProgram, NeedsItsRanks) {
  Job job(3);
  const auto root = job.group("default_pg", {0, 1, 2});
  job.calls({0, 1, 2}, root, all_reduce);
  job.call(2, root, OperationKind::barrier, {.state = started});
  const RetoldProgram retold = retell(job.take(), "rec");
  const Program program = make_program(retold.file, {.name = "direct"});
  EXPECT_THROW(run(program, {.program = "direct", .world_size = 2}), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness::program_file
