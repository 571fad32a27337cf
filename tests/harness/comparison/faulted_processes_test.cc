#include "harness/comparison/faulted_processes.h"

#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/root_gang.h"
#include "harness/programs/all_programs.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

Output output_of(std::int32_t value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return {.name = "sum", .type = DataType::i32, .count = 1, .data = {bytes, bytes + 4}};
}

RankOutcome::Failure failure_of_kind(GangErrorKind kind, Duration elapsed = 10ms) {
  return {.text = "it failed", .kind = kind, .elapsed = elapsed};
}

// Of rank 0, where rank 2 is killed.
std::optional<std::string> problem_with(const RankOutcome& outcome,
                                        ProcessFaultKind kind = ProcessFaultKind::kill) {
  const ProcessFault fault{.kind = kind, .rank = 2};
  return problem_of(0, outcome, {output_of(6), output_of(7)}, {&fault, 1}, 2s);
}

TEST(ProblemOf, ARightResultOrATypedErrorInTimeIsNone) {
  EXPECT_EQ(problem_with({.outputs = {output_of(6), output_of(7)}}), std::nullopt);
  EXPECT_EQ(problem_with({.outputs = {output_of(6)},
                          .failure = failure_of_kind(GangErrorKind::peer_failed)}),
            std::nullopt);
}

TEST(ProblemOf, SuccessWithWrongOrMissingDataIsOne) {
  EXPECT_EQ(problem_with({.outputs = {output_of(6), output_of(8)}}), "output a wrong 'sum'");
  EXPECT_EQ(problem_with({.outputs = {output_of(6)}}), "output 1 of 2 results");
  EXPECT_EQ(problem_with({.outputs = {output_of(6), output_of(7), output_of(8)}}),
            "output a wrong 'sum'");
  EXPECT_EQ(problem_with({.outputs = {output_of(5)},
                          .failure = failure_of_kind(GangErrorKind::peer_failed)}),
            "output a wrong 'sum'");
}

TEST(ProblemOf, AHangALateErrorAndAFalseOneAre) {
  EXPECT_EQ(problem_with({.failure = RankOutcome::Failure{.text = "had not ended"}}),
            "had not ended");
  EXPECT_EQ(problem_with({.failure = failure_of_kind(GangErrorKind::timeout, 2900ms)}),
            std::nullopt);
  EXPECT_EQ(problem_with({.failure = failure_of_kind(GangErrorKind::timeout, 3500ms)}),
            "got its error only after 3.5 s: it failed");
  EXPECT_EQ(problem_with({.failure = failure_of_kind(GangErrorKind::corrupt)}),
            "got a false corrupt: it failed");
  EXPECT_EQ(
      problem_with({.failure = failure_of_kind(GangErrorKind::timeout)}, ProcessFaultKind::delay),
      "got a false timeout: it failed");
}

TEST(ProblemOf, TheVictimIsExcusedForWhatBefellItOnly) {
  const ProcessFault killed{.rank = 2};
  EXPECT_EQ(problem_of(2, {.failure = RankOutcome::Failure{.text = "killed by signal 9"}}, {},
                       {&killed, 1}, 2s),
            std::nullopt);
  const ProcessFault left{.kind = ProcessFaultKind::exit, .rank = 2};
  EXPECT_EQ(
      problem_of(2, {.failure = RankOutcome::Failure{.text = "exited with 3"}}, {}, {&left, 1}, 2s),
      std::nullopt);
  EXPECT_EQ(
      problem_of(2, {.failure = failure_of_kind(GangErrorKind::corrupt)}, {}, {&killed, 1}, 2s),
      "got a false corrupt: it failed");
  const ProcessFault stopped{.kind = ProcessFaultKind::stop, .rank = 2};
  EXPECT_EQ(problem_of(2, {.failure = failure_of_kind(GangErrorKind::peer_failed, 60s)}, {},
                       {&stopped, 1}, 2s),
            std::nullopt);
  EXPECT_EQ(problem_of(2, {.failure = RankOutcome::Failure{.text = "had not ended"}}, {},
                       {&stopped, 1}, 2s),
            "had not ended");
}

class FaultedProcessesTest : public testing::TestWithParam<ProcessFaultKind> {
 protected:
  void SetUp() override {
    if (!gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  }

  static FaultedProcessesReport run_with(const Program& program, ProcessFaultKind kind,
                                         std::uint64_t count, Duration timeout = 500ms) {
    const RunSpecification specification{
        .program = program.name, .world_size = 3, .options = {.seed = 3, .timeout = timeout}};
    return run_faulted_processes(program, specification,
                                 {.name = std::string(to_string(kind)),
                                  .draw = process_faults_called(std::string(to_string(kind))),
                                  .count = count},
                                 {});
  }
};

TEST_P(FaultedProcessesTest, AreContainedByACorrectProgram) {
  const auto report = run_with(find_program(all_programs(), "ring"), GetParam(), 2);
  EXPECT_TRUE(report.holds()) << to_string(report);
  ASSERT_EQ(report.cases.size(), 2U);
  for (const FaultedCase& one : report.cases) EXPECT_EQ(one.fired, 1U) << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, FaultedProcessesTest,
                         testing::Values(ProcessFaultKind::kill, ProcessFaultKind::stop,
                                         ProcessFaultKind::exit, ProcessFaultKind::exception,
                                         ProcessFaultKind::delay, ProcessFaultKind::restart,
                                         ProcessFaultKind::store),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_F(FaultedProcessesTest, AProgramThatSwallowsTheErrorIsFound) {
  const Program liar{.name = "liar", .description = "", .run = [](Rank& rank) {
                       std::int32_t sum = 1;
                       try {
                         rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                       } catch (const GangError&) {
                         // Continues with what it has.
                       }
                       rank.output("sum", sum);
                     }};
  const auto report = run_with(liar, ProcessFaultKind::exception, 4);
  EXPECT_FALSE(report.holds());
  EXPECT_THAT(to_string(report), HasSubstr("output a wrong 'sum'"));
  EXPECT_FALSE(to_json(report)["holds"].get<bool>());
}

// Only with validation are calls that differ a mismatch.
TEST_F(FaultedProcessesTest, EverySecondCaseIsValidated) {
  const Program confused{.name = "confused", .description = "", .run = [](Rank& rank) {
                           for (int i = 0; i < 3; ++i) {
                             try {
                               rank.root()->barrier();
                             } catch (const GangError&) {
                               throw;
                             } catch (const std::exception&) {
                               std::int32_t sum = 1;
                               rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                             }
                           }
                         }};
  const auto draw =
      process_faults_called("fault = [{kind = \"exception\", ranks = [2], operation = 1}]");
  const auto report = run_faulted_processes(
      confused, {.program = "confused", .world_size = 3, .options = {.timeout = 500ms}},
      {.name = "plan", .draw = draw, .count = 2}, {});
  ASSERT_EQ(report.cases.size(), 2U);
  EXPECT_FALSE(report.cases[0].ends.contains("mismatch")) << to_string(report);
  EXPECT_TRUE(report.cases[1].ends.contains("mismatch")) << to_string(report);
}

TEST_F(FaultedProcessesTest, APlanIsAppliedAsFarAsProcessesCanHaveItsFaults) {
  const RunSpecification specification{
      .program = "ring", .world_size = 3, .options = {.seed = 3, .timeout = 500ms}};
  const auto draw = process_faults_called(
      "fault = [{kind = \"crash\", ranks = [1], operation = 0}, "
      "{kind = \"drop_message\", ranks = [0], to = [2], message = 0}]");
  const auto report = run_faulted_processes(find_program(all_programs(), "ring"), specification,
                                            {.name = "plan", .draw = draw, .count = 1}, {});
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(to_string(report), HasSubstr("Fired      1 of 1 faults"));
  EXPECT_THAT(to_string(report), HasSubstr("cannot have: 1 drop_message (of a link)"));
}

TEST_F(FaultedProcessesTest, APlanStrikesAtATimeOfTheWall) {
  const Program program{.name = "rounds", .description = "", .run = [](Rank& rank) {
                          for (int round = 0; round < 10; ++round) {
                            std::this_thread::sleep_for(20ms);
                            rank.root()->barrier();
                          }
                        }};
  const auto fired = [&program](const std::string& time) {
    const RunSpecification specification{
        .program = "rounds", .world_size = 2, .options = {.seed = 3, .timeout = 10s}};
    const auto draw =
        process_faults_called("fault = [{kind = \"crash\", ranks = [1], time = \"" + time + "\"}]");
    const auto report = run_faulted_processes(program, specification,
                                              {.name = "plan", .draw = draw, .count = 1}, {});
    EXPECT_TRUE(report.holds()) << to_string(report);
    return report.cases.at(0).fired;
  };
  EXPECT_EQ(fired("70ms"), 1U);
  EXPECT_EQ(fired("1h"), 0U);
}

TEST_F(FaultedProcessesTest, AProgramThatFailsByItselfIsNotRunWithFaults) {
  const Program broken{.name = "broken", .description = "", .run = [](Rank& rank) {
                         if (rank.rank() == 1) throw std::runtime_error("out of paper");
                       }};
  const auto report = run_with(broken, ProcessFaultKind::kill, 3);
  EXPECT_FALSE(report.holds());
  EXPECT_TRUE(report.cases.empty());
  EXPECT_THAT(to_string(report), HasSubstr("fails without any fault: rank 1: out of paper"));
}

TEST(ProblemOf, AWrongResultIsOneAndAnInjectedExceptionIsNone) {
  EXPECT_EQ(problem_with({.outputs = {output_of(6), output_of(7)}, .wrong_result = "5 is not 6"}),
            "found its result wrong: 5 is not 6");
  EXPECT_EQ(problem_with({.failure = RankOutcome::Failure{.text = "injected", .is_injected = true}},
                         ProcessFaultKind::exception),
            std::nullopt);
  EXPECT_EQ(problem_with({.failure = failure_of_kind(GangErrorKind::mismatch)}),
            "got a false mismatch: it failed");
}

TEST(FaultedProcessesReport, CountsEndsAndNamesTheSlowestError) {
  FaultedProcessesReport report{.program = "ring", .world_size = 3, .timeout = 2s};
  report.cases = {{.index = 4,
                   .faults = {"rank 1 is killed"},
                   .fired = 1,
                   .ends = {{"right result", 2}, {"aborted", 1}},
                   .slowest = 1500ms,
                   .slowest_error = "the first one was late"},
                  {.index = 5,
                   .faults = {"rank 2 is killed"},
                   .fired = 1,
                   .ends = {{"aborted", 1}},
                   .slowest = 1200ms,
                   .slowest_error = "the second one, too"}};
  EXPECT_TRUE(report.holds());
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("Fired      2 of 2 faults"));
  EXPECT_THAT(text, HasSubstr("4 survivors: 2 right results, 2 errors"));
  EXPECT_THAT(text, HasSubstr("Errors     aborted 2\n"));
  EXPECT_THAT(text, HasSubstr("Slowest    1.50 s"));
  EXPECT_THAT(text, HasSubstr("case 4: the first one was late"));
  report.clean_failure = "rank 0: no";
  EXPECT_FALSE(report.holds());
}

TEST(FaultedProcessesReport, AddsUpWhatItsCasesLeftOutAndEndedWith) {
  FaultedProcessesReport report{.program = "ring", .world_size = 4, .timeout = 2s};
  for (const int count : {2, 3})
    report.cases.push_back({.left_out = {{"drop_message (of a link)", count}},
                            .ends = {{"peer_failed", count}, {"aborted", 1}},
                            .slowest = 1s,
                            .slowest_error = "it was late"});
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("cannot have: 5 drop_message (of a link)"));
  EXPECT_THAT(text, HasSubstr("7 survivors: 0 right results, 7 errors"));
  EXPECT_THAT(text, HasSubstr("Errors     aborted 2, peer_failed 5\n"));
  // Up to half the timeout, an error is not late.
  EXPECT_THAT(text, testing::Not(HasSubstr("it was late")));
}

TEST(ProcessFaultsCalled, EveryCaseOfAPlanHasItsOwnFaults) {
  const auto draw = process_faults_called("fault = [{kind = \"crash\", operation = [0, 1000]}]");
  const FaultSpace space{std::vector<std::uint64_t>(8, 1000), 1s};
  std::set<std::uint64_t> operations;
  for (std::uint64_t index = 0; index < 5; ++index)
    operations.insert(draw(space, 3, index).faults.at(0).operation);
  EXPECT_GT(operations.size(), 1U);
}

TEST_F(FaultedProcessesTest, CasesHaveTheirNumbersInTheWhole) {
  const RunSpecification specification{
      .program = "ring", .world_size = 2, .options = {.seed = 3, .timeout = 500ms}};
  const auto report = run_faulted_processes(
      find_program(all_programs(), "ring"), specification,
      {.name = "delay", .draw = process_faults_called("delay"), .first = 7, .count = 1}, {});
  ASSERT_EQ(report.cases.size(), 1U);
  EXPECT_EQ(report.cases[0].index, 7U);
}

TEST_F(FaultedProcessesTest, AFaultOfAStoreThatBeginsLaterHasNotFired) {
  const auto fired = [](const std::string& time) {
    const RunSpecification specification{
        .program = "ring", .world_size = 2, .options = {.seed = 3, .timeout = 10s}};
    const auto draw = process_faults_called(
        "fault = [{kind = \"slow_store\", ranks = [1], delay = \"1ms\"" + time + "}]");
    const auto report = run_faulted_processes(find_program(all_programs(), "ring"), specification,
                                              {.name = "plan", .draw = draw, .count = 1}, {});
    EXPECT_TRUE(report.holds()) << to_string(report);
    return report.cases.at(0).fired;
  };
  EXPECT_EQ(fired(""), 1U);
  EXPECT_EQ(fired(", time = \"1h\""), 0U);
}

TEST_F(FaultedProcessesTest, ARankThatThrowsIsNoSurvivor) {
  const auto report =
      run_with(find_program(all_programs(), "ring"), ProcessFaultKind::exception, 1);
  ASSERT_EQ(report.cases.size(), 1U);
  int survivors = 0;
  for (const auto& [end, count] : report.cases[0].ends) survivors += count;
  EXPECT_EQ(survivors, 2) << to_string(report);
}

}  // namespace
}  // namespace gang::harness
