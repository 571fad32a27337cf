#include "harness/run/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

Program program_of(Program::Run body) {
  return {.name = "test", .description = "", .run = std::move(body)};
}

void sum_ranks(Rank& rank) {
  std::int32_t sum = rank.rank();
  rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
  rank.output("sum", sum);
}

TEST(Run, GivesTheSameResultForTheSameSpecification) {
  const RunSpecification specification{
      .program = "test", .schedule = ScheduleChoice::random, .options = {.seed = 3}};
  const RunResult first = run(program_of(sum_ranks), specification);
  const RunResult second = run(program_of(sum_ranks), specification);
  EXPECT_TRUE(first.holds());
  EXPECT_EQ(first.outputs.digest, second.outputs.digest);
  EXPECT_EQ(first.report.trace.digest, second.report.trace.digest);
}

TEST(Run, TakesTheWorldOfTheProgramWhereNoneIsGiven) {
  Program program = program_of(sum_ranks);
  program.default_world_size = 5;
  EXPECT_EQ(run(program, {.program = "test"}).world_size, 5);
  EXPECT_EQ(run(program, {.program = "test", .world_size = 3}).world_size, 3);
}

TEST(Run, TurnsWhatARankFindsWrongIntoAFinding) {
  const RunResult result = run(program_of([](Rank& rank) {
                                 if (rank.rank() >= 6) rank.wrong_result("Nothing adds up.");
                               }),
                               {.program = "test"});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
  EXPECT_EQ(result.report.findings[0].ranks, (std::vector{6, 7}));
  EXPECT_THAT(to_string(result.report.findings[0].location),
              testing::StartsWith("runner_test.cc:"));
  EXPECT_EQ(sim::full_message(result.report.findings[0]),
            "Nothing adds up. Ranks 6-7 said so at " +
                to_string(result.report.findings[0].location) + ".");
  EXPECT_FALSE(result.holds());
}

TEST(Run, GivesTheCheckAllOutputs) {
  Program program = program_of(sum_ranks);
  program.check = [](const Outputs& outputs) -> std::optional<std::string> {
    return outputs.by_rank.at(7).at(0).name == "sum" ? std::optional{"The sum is odd."}
                                                     : std::nullopt;
  };
  const RunResult result = run(program, {.program = "test"});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(sim::full_message(result.report.findings[0]), "The sum is odd.");
}

TEST(Run, RefusesWhatTheProgramDoesNotAccept) {
  Program program = program_of(sum_ranks);
  program.validate = [](int world_size, const ParameterValues&) {
    if (world_size % 2 != 0) throw InvalidArgument("odd");
  };
  EXPECT_THROW(run(program, {.program = "test", .world_size = 3}), InvalidArgument);
  EXPECT_THROW(run(program, {.program = "test", .parameters = {{"x", "1"}}}), InvalidArgument);
  EXPECT_THROW(run(program, {.program = "test", .backend = BackendKind::nccl}), NotSupported);
}

TEST(Run, RechecksThatTheScheduleExplainsTheRun) {
  int runs = 0;
  const RunResult result = run(program_of([&runs](Rank& rank) {
                                 if (rank.rank() == 0 && runs++ > 0)
                                   rank.root()->barrier();
                                 else
                                   rank.root()->start_barrier().wait();
                               }),
                               {.program = "test", .schedule = ScheduleChoice::recheck});
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::nondeterminism);
}

TEST(Replay, FollowsTheRecordedSchedule) {
  const RunSpecification specification{
      .program = "test", .schedule = ScheduleChoice::random, .options = {.seed = 9}};
  const RunResult recorded =
      run(program_of(sum_ranks), specification, {.schedule = sim::Recording::on});
  const RunResult replayed = replay(program_of(sum_ranks), specification, recorded.report.schedule);
  EXPECT_EQ(replayed.report.trace.digest, recorded.report.trace.digest);
  EXPECT_EQ(replayed.outputs.digest, recorded.outputs.digest);
}

}  // namespace
}  // namespace gang::harness
