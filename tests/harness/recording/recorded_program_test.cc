#include "harness/recording/recorded_program.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/recording/dump.h"
#include "harness/recording/dump_files.h"
#include "harness/recording/explained_recording.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

// What a run says, and what its recording says.
std::pair<sim::Report, sim::Report> run_and_recall(const Program::Run& body, int world,
                                                   const std::string& name) {
  const Program program{name, "a program", body};
  const RunSpecification specification{.program = name, .world_size = world};
  const RunResult result = run(recorded(program, runs_in_streams(specification)), specification);
  const std::string folder = test::temporary_directory() + name;
  write_dumps(result, folder);
  return {result.report, explain(read_recording({folder}), name, "explain").report};
}

TEST(RecordedProgram, ItsDumpsSayWhatTheRunSaid) {
  const auto [report, recalled] = run_and_recall(
      [](Rank& rank) {
        float value = 1;
        rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
        if (rank.rank() == 2) return;
        rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
      },
      4, "skips");
  ASSERT_EQ(report.findings.size(), 1U);
  ASSERT_EQ(recalled.findings.size(), 1U);
  EXPECT_EQ(recalled.findings[0].id, report.findings[0].id);
  EXPECT_EQ(recalled.findings[0].ranks, report.findings[0].ranks);
  EXPECT_TRUE(is_same_line(recalled.findings[0].location, report.findings[0].location));
  EXPECT_EQ(recalled.blocked.size(), report.blocked.size());
}

TEST(RecordedProgram, AReduceOperationIsRecorded) {
  const auto [report, recalled] = run_and_recall(
      [](Rank& rank) {
        float value = 1;
        rank.root()->all_reduce(view_of(value),
                                rank.rank() == 1 ? ReduceOperation::max : ReduceOperation::sum);
      },
      4, "reduces");
  ASSERT_EQ(recalled.findings.size(), 1U);
  EXPECT_EQ(recalled.findings[0].id, "mismatch_reduce_operation");
  EXPECT_EQ(recalled.findings[0].ranks, std::vector{1});
}

TEST(RecordedProgram, WhatHoldsIsRecordedAsEnded) {
  const auto [report, recalled] = run_and_recall(
      [](Rank& rank) {
        for (int i = 0; i < 3; ++i) rank.root()->barrier();
      },
      3, "holds");
  EXPECT_TRUE(report.holds());
  EXPECT_TRUE(recalled.holds());
  EXPECT_EQ(recalled.counts.rank_operations, 9U);
}

TEST(RecordedProgram, WritesAFileForEachRank) {
  run_and_recall([](Rank& rank) { rank.root()->barrier(); }, 2, "files");
  EXPECT_TRUE(std::filesystem::exists(test::temporary_directory() + "files/nccl_trace_rank_0"));
  EXPECT_TRUE(std::filesystem::exists(test::temporary_directory() + "files/nccl_trace_rank_1"));
}

TEST(RecordedProgram, KnowsWhichRunsHaveStreams) {
  RunSpecification specification;
  EXPECT_FALSE(runs_in_streams(specification));
  specification.backend = BackendKind::sim_nccl;
  EXPECT_TRUE(runs_in_streams(specification));
  specification.backend = BackendKind::sim;
  specification.options.execution = sim::ExecutionModel::stream_ordered;
  EXPECT_TRUE(runs_in_streams(specification));
}

TEST(RecordedProgram, ADumpTellsHowItsRankEndedAndWhetherItHasStreams) {
  const Program program{"ends", "", [](Rank& rank) {
                          rank.root()->barrier();
                          if (rank.rank() == 1) throw std::runtime_error("out of memory");
                        }};
  for (const bool is_in_stream : {false, true}) {
    const RunResult result =
        run(recorded(program, is_in_stream), {.program = "ends", .world_size = 2});
    CallTable calls;
    const Dump returned = read_dump(result.notes.at(0), calls);
    EXPECT_EQ(returned.end, ProgramEnd::returned);
    EXPECT_EQ(returned.calls.at(0).is_in_stream, is_in_stream);
    EXPECT_EQ(read_dump(result.notes.at(1), calls).end, ProgramEnd::failed);
  }
}

TEST(RecordedProgram, ARankThatIsStuckHasNoEnd) {
  const Program program{"stuck", "", [](Rank& rank) {
                          if (rank.rank() == 0) rank.root()->barrier();
                        }};
  const RunResult result = run(recorded(program, false), {.program = "stuck", .world_size = 2});
  CallTable calls;
  const Dump stuck = read_dump(result.notes.at(0), calls);
  EXPECT_EQ(stuck.end, ProgramEnd::none);
  EXPECT_EQ(stuck.calls.size(), 1U);
  EXPECT_EQ(read_dump(result.notes.at(1), calls).end, ProgramEnd::returned);
}

TEST(RecordedProgram, ARankThatLeftNoDumpHasNoFile) {
  RunResult result;
  result.notes = {"", "dump"};
  const std::string folder = test::temporary_directory() + "killed";
  write_dumps(result, folder);
  EXPECT_FALSE(std::filesystem::exists(folder + "/nccl_trace_rank_0"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/nccl_trace_rank_1"));
  EXPECT_THROW(write_dumps({}, folder + "/nccl_trace_rank_1/folder"), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
