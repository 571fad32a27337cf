#include "harness/run/runner.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/first_message_program.h"

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

TEST(Run, OfManyRunsOnlyThoseThatFailHaveACommand) {
  const RunSpecification specification{.program = "test", .world_size = 2};
  const auto command_of = [&](Program::Run body, Shown shown) {
    return run(program_of(std::move(body)), specification, {.shown = shown}).reproduce;
  };
  const auto fail = [](Rank& rank) { rank.wrong_result("Nothing adds up."); };
  EXPECT_EQ(command_of(sum_ranks, Shown::always), "gangsim run test --world 2 --seed 1");
  EXPECT_EQ(command_of(sum_ranks, Shown::only_if_it_fails), "");
  EXPECT_EQ(command_of(fail, Shown::only_if_it_fails), "gangsim run test --world 2 --seed 1");
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

RunResult run_of(Program::Run body, const RunSpecification& specification = {},
                 const RunRecording& recording = {}) {
  return run(program_of(std::move(body)), specification, recording);
}

TEST(Run, ASentenceOfTheProgramEndsOnce) {
  const auto message_of = [](const char* message) {
    return run_of([message](Rank& rank) {
             if (rank.rank() == 1) rank.wrong_result(message);
           })
        .report.findings.at(0);
  };
  EXPECT_EQ(message_of("Nothing adds up").message, "Nothing adds up.");
  EXPECT_EQ(message_of("Nothing adds up.").message, "Nothing adds up.");
  EXPECT_THAT(message_of("It is.").detail, testing::StartsWith("Rank 1 said so at "));
}

TEST(Run, DoesNotCheckOutputsOfAProgramThatHasNotCompleted) {
  Program program = program_of([](Rank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  });
  program.check = [](const Outputs&) { return std::optional<std::string>{"Always wrong."}; };
  const RunResult result = run(program, {.program = "test", .world_size = 2});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::participant_missing);
}

TEST(Run, DrawsFaultsFromTheSeed) {
  const auto plan_of = [](std::uint64_t seed) {
    const RunResult result =
        run_of([](Rank& rank) { rank.root()->barrier(); },
               {.program = "test", .faults = load_faults("swarm"), .options = {.seed = seed}});
    return *result.report.fault_plan;
  };
  EXPECT_EQ(plan_of(2), plan_of(2));
  EXPECT_EQ(plan_of(2), sim::draw(load_faults("swarm"), 2, 8));
}

TEST(Run, BlockedCallsHaveTheirCallStacks) {
  const RunResult result = run_of(
      [](Rank& rank) {
        if (rank.rank() == 0) rank.root()->barrier();
      },
      {.program = "test", .world_size = 2});
  ASSERT_EQ(result.report.blocked.size(), 1U);
  EXPECT_THAT(result.report.blocked[0].call_stack, testing::Not(testing::IsEmpty()));
}

TEST(Run, KeepsTheNotesOfTheRanks) {
  const RunResult result =
      run_of([](Rank& rank) { rank.note("rank " + std::to_string(rank.rank())); },
             {.program = "test", .world_size = 2});
  EXPECT_THAT(result.notes, testing::ElementsAre("rank 0", "rank 1"));
}

TEST(Run, TheSpecificationOfAResultHasItsWorld) {
  EXPECT_EQ(run_of(sum_ranks).specification.world_size, 8);
}

TEST(Run, TheCheckSeesTheData) {
  Program program = program_of(sum_ranks);
  program.check = [](const Outputs& outputs) -> std::optional<std::string> {
    std::int32_t sum = 0;
    std::memcpy(&sum, outputs.by_rank.at(1).at(0).data.data(), sizeof sum);
    return sum == 6 ? std::nullopt : std::optional{"The sum is wrong."};
  };
  EXPECT_TRUE(run(program, {.program = "test", .world_size = 4}).holds());
}

TEST(Run, AnOutputThatDependsOnTheOrderOfMessagesIsAFinding) {
  const RunResult result = run(first_message_program(), {.program = "first", .world_size = 3});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::message_race);
}

TEST(Run, CountsWhatSchedulesContendForWhereThatMatters) {
  const auto equal_messages = [](Rank& rank) {
    std::int32_t value = 7;
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
  };
  const RunSpecification three_ranks{.program = "test", .world_size = 3};
  const RunResult contested =
      run_of(equal_messages, three_ranks, {.neighbours = sim::Neighbours::all});
  EXPECT_GT(contested.contested_choices, 0U);
  EXPECT_FALSE(contested.choices.empty());
  EXPECT_THAT(contested.explore, testing::StartsWith("gangsim explore test "));
  EXPECT_FALSE(contested.is_in_every_schedule);
  EXPECT_EQ(run_of(equal_messages, three_ranks).contested_choices, 0U);
  EXPECT_EQ(run_of(sum_ranks, three_ranks, {.neighbours = sim::Neighbours::all}).contested_choices,
            0U);
}

TEST(Run, TellsTheChoiceThatMakesItFail) {
  const auto wrong_if_rank_1_is_first = [](Rank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    rank.root()->recv(view_of(value));
    if (value == 1) rank.wrong_result("Rank 1 came first.");
    rank.root()->recv(view_of(value));
  };
  const RunSpecification three_ranks{.program = "test", .world_size = 3};
  const RunResult result =
      run_of(wrong_if_rank_1_is_first, three_ranks, {.neighbours = sim::Neighbours::all});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
  EXPECT_THAT(result.decisive, testing::HasSubstr("took the message of rank 1"));
  EXPECT_EQ(run_of(wrong_if_rank_1_is_first, three_ranks).decisive, "");
}

// Though it made choices: who comes first to a message to oneself.
TEST(Run, AFailureWithoutContestedChoicesIsInEverySchedule) {
  const auto wait_for_nobody = [](Rank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) return rank.root()->barrier();
    Work received = rank.root()->start_recv(view_of(value), 1);
    rank.root()->send(view_of(value), 1);
    received.wait();
  };
  const RunSpecification two_ranks{.program = "test", .world_size = 2};
  const RunResult result = run_of(wait_for_nobody, two_ranks, {.neighbours = sim::Neighbours::all});
  EXPECT_TRUE(result.is_in_every_schedule);
  ASSERT_TRUE(result.report.certainty);
  EXPECT_EQ(result.report.certainty->schedules, sim::Schedules::every);
  EXPECT_TRUE(result.report.certainty->is_uncontested);
}

TEST(Run, WithoutContestedChoicesNoCommandTriesThem) {
  const RunSpecification three_ranks{.program = "test", .world_size = 3};
  const RunResult result = run_of(sum_ranks, three_ranks, {.neighbours = sim::Neighbours::all});
  EXPECT_EQ(result.explore, "");
  EXPECT_TRUE(result.is_in_every_schedule);
}

// Counting runs the program again.
TEST(Run, OfALargeRunNoChoicesAreCounted) {
  int runs = 0;
  const auto equal_messages = [&runs](Rank& rank) {
    std::int32_t value = 7;
    if (rank.rank() == 0) ++runs;
    for (int i = 0; i < 7'000; ++i) rank.root()->barrier();
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
  };
  const RunSpecification three_ranks{.program = "test", .world_size = 3};
  const RunResult result =
      run_of(equal_messages, three_ranks, {.neighbours = sim::Neighbours::all});
  EXPECT_EQ(result.contested_choices, 0U);
  EXPECT_FALSE(result.is_in_every_schedule);
  EXPECT_THAT(contested_text(result),
              testing::StartsWith("choices that were not counted, decided by: gangsim explore"));
  const int without = std::exchange(runs, 0);
  run_of(equal_messages, three_ranks);
  EXPECT_EQ(runs, without);
}

TEST(Replay, OfARecheckIsOneRun) {
  const auto runs = std::make_shared<int>(0);
  const Program program = program_of([runs](Rank& rank) {
    if (rank.rank() == 0) ++*runs;
    rank.root()->barrier();
  });
  const RunSpecification specification{.program = "test", .schedule = ScheduleChoice::recheck};
  const RunResult recorded =
      run(program, specification, {.schedule = sim::Recording::on, .settles = false});
  EXPECT_EQ(std::exchange(*runs, 0), 2);
  replay(program, specification, recorded.report.schedule, {.settles = false});
  EXPECT_EQ(*runs, 1);
}

TEST(Run, ReplicasThatDifferAreAFindingIfTheSpecificationVerifiesThem) {
  RunSpecification specification{
      .program = "test",
      .world_size = 4,
      .faults = load_faults(R"(fault = [{kind = "corrupt_result", ranks = [2]}])")};
  EXPECT_THAT(run_of(sum_ranks, specification).report.findings, testing::IsEmpty());
  specification.verify = Verification::replicas;
  EXPECT_THAT(run_of(sum_ranks, specification).report.findings, testing::Not(testing::IsEmpty()));
}

TEST(Run, WithoutFurtherRunsFaultsAreJudgedByTheOutputsThatAreGiven) {
  const auto careless = [](Rank& rank) {
    std::int32_t sum = 1;
    try {
      rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
    } catch (const GangError&) {
    }
    rank.output("sum", sum);
  };
  const RunSpecification four_ranks{.program = "test", .world_size = 4};
  const RunResult clean = run_of(careless, four_ranks, {.outputs = KeepOutputs::data});
  RunSpecification faulted = four_ranks;
  faulted.faults = load_faults(R"(fault = [{kind = "crash", ranks = [1], notice = "1s"}])");
  int asked = 0;
  const RunRecording recording{.settles = false, .clean = [&]() -> const Outputs& {
                                 ++asked;
                                 return clean.outputs;
                               }};
  EXPECT_EQ(run_of(careless, faulted, recording).uncontained, "the finding wrong_result");
  EXPECT_EQ(asked, 1);
  faulted.faults = load_faults(R"(fault = [{kind = "crash", ranks = [1], operation = 9}])");
  EXPECT_EQ(run_of(careless, faulted, recording).uncontained, "");
  EXPECT_EQ(asked, 1) << "nothing has happened";
}

TEST(Run, ARecheckIsThatOfARandomSchedule) {
  const Program program = ring_program();
  RunSpecification specification{.program = "ring", .world_size = 6, .options = {.seed = 5}};
  const auto digest = [&](ScheduleChoice schedule) {
    specification.schedule = schedule;
    return run(program, specification).report.trace.digest;
  };
  EXPECT_EQ(digest(ScheduleChoice::recheck), digest(ScheduleChoice::random));
  EXPECT_NE(digest(ScheduleChoice::random), digest(ScheduleChoice::round_robin));
}

TEST(Run, OfARunWithFaultsNoChoicesAreCounted) {
  const auto equal_messages = [](Rank& rank) {
    std::int32_t value = 7;
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    for (int i = 1; i < rank.world_size(); ++i) rank.root()->recv(view_of(value));
  };
  const RunSpecification slow{.program = "test",
                              .world_size = 3,
                              .faults = load_faults(R"(fault = [{kind = "slow", delay = "1s"}])")};
  EXPECT_EQ(run_of(equal_messages, slow, {.neighbours = sim::Neighbours::all}).contested_choices,
            0U);
}

}  // namespace
}  // namespace gang::harness
