#include "harness/run/fault_check.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/forwarding_gang.h"
#include "harness/programs/all_programs.h"
#include "harness/run/fault_file.h"
#include "tests/gang/capturing_gang.h"

namespace gang::harness {
namespace {

RunResult run_with(const std::function<void(Rank&)>& body, std::string_view faults) {
  const Program program{.name = "test", .description = "", .run = body, .default_world_size = 4};
  return run(program, {.program = "test", .faults = load_faults(faults)});
}

constexpr const char* crash =
    R"(fault = [{kind = "crash", ranks = [1], operation = 1, notice = "1s"}])";

void two_sums(Rank& rank) {
  std::int32_t sum = 1;
  rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
  rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
  rank.output("sum", sum);
}

TEST(FaultCheck, AnErrorThatLeavesAProgramIsContainedAndNamesTheFault) {
  const RunResult result = run_with(two_sums, crash);
  EXPECT_EQ(result.uncontained, "");
  ASSERT_EQ(result.report.findings.size(), 1u);
  EXPECT_EQ(result.report.findings[0].id, "rank_failed");
  EXPECT_EQ(result.report.findings[0].certainty.value().faults, sim::Dependence::needed);
  EXPECT_THAT(to_string(result),
              testing::HasSubstr("Certainty  only because rank 1 crashed before all_reduce #1"));
  EXPECT_THAT(to_string(result), testing::HasSubstr("Faults     rank 1 crashed before"));
}

TEST(FaultCheck, SurvivorsMayGoOn) {
  const RunResult result = run_with(
      [](Rank& rank) {
        try {
          two_sums(rank);
        } catch (const GangError&) {
          const auto survivors = rank.root()->shrink();
          std::int32_t sum = 1;
          survivors->all_reduce(view_of(sum), ReduceOperation::sum);
          rank.output("sum after a failure", sum);
        }
      },
      crash);
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.uncontained, "");
}

TEST(FaultCheck, ASilentWrongResultIsNotContained) {
  const RunResult result = run_with(
      [](Rank& rank) {
        std::int32_t sum = 1;
        try {
          rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
          rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
        } catch (const GangError&) {
        }
        rank.output("sum", sum);
      },
      crash);
  EXPECT_EQ(result.uncontained, "the finding wrong_result");
  EXPECT_THAT(result.report.findings.back().message,
              testing::HasSubstr("the output 'sum' differs from the fault-free run"));
}

TEST(FaultCheck, AnErrorOfAnotherTypeIsNotContained) {
  const RunResult result = run_with(
      [](Rank& rank) {
        try {
          two_sums(rank);
        } catch (const GangError&) {
          throw std::logic_error("no plan for this");
        }
      },
      crash);
  EXPECT_THAT(result.uncontained,
              testing::HasSubstr("ended with an error other than a GangError: no plan for this"));
}

// A crash breaks gangs; it makes no calls differ, and corrupts nothing.
TEST(FaultCheck, AnErrorOfAFalseKindIsNotContained) {
  for (const GangErrorKind kind : {GangErrorKind::mismatch, GangErrorKind::corrupt}) {
    const RunResult result = run_with(
        [kind](Rank& rank) {
          try {
            two_sums(rank);
          } catch (const GangError&) {
            throw GangError({.kind = kind, .rank = rank.rank(), .reason = "made up"});
          }
        },
        crash);
    EXPECT_THAT(result.uncontained,
                testing::StartsWith("rank 0 got a false " + std::string(to_string(kind)) + ": "));
  }
}

TEST(FaultCheck, AnErrorBeforeAnyFaultIsNotContained) {
  const RunResult result = run_with(
      [](Rank& rank) {
        if (rank.rank() == 0) throw std::runtime_error("by itself");
        rank.root()->barrier();
      },
      R"(fault = [{kind = "crash", ranks = [1], operation = 100}])");
  EXPECT_TRUE(result.report.faults.empty());
  EXPECT_EQ(result.uncontained, "the finding rank_failed");
}

TEST(FaultCheck, AHangIsNotContained) {
  const Program program{
      .name = "test", .description = "", .run = two_sums, .default_world_size = 4};
  const RunResult result = run(program, {.program = "test",
                                         .faults = load_faults(R"(fault = [{kind = "stall"}])"),
                                         .options = {.timeout = no_timeout}});
  EXPECT_EQ(result.uncontained, "the outcome is deadlock");
}

TEST(FaultCheck, OutputsOfARunThatHangsAreNotCompared) {
  const Program program{.name = "test",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              std::int32_t sum = 1;
                              rank.output("crashes", rank.faults_have_fired() ? 1 : 0);
                              rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
                              rank.output("sum", sum);
                            },
                        .default_world_size = 4};
  const RunResult result =
      run(program, {.program = "test",
                    .faults = load_faults(R"(fault = [{kind = "stall", ranks = [1]}])"),
                    .options = {.timeout = no_timeout}});
  EXPECT_EQ(result.uncontained, "the outcome is deadlock");
  for (const sim::Finding& finding : result.report.findings)
    EXPECT_NE(finding.id, sim::finding_id::wrong_result);
}

TEST(FaultCheck, WhatIsWrongWithoutTheFaultsIsNotBlamedOnThem) {
  const RunResult result = run_with(
      [](Rank& rank) {
        two_sums(rank);
        rank.wrong_result("always");
      },
      R"(fault = [{kind = "slow", ranks = [1], delay = "1s"}])");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.uncontained, "the finding wrong_result");
}

TEST(FaultCheck, CorruptDataIsByPlan) {
  const RunResult result =
      run_with(two_sums, R"(fault = [{kind = "corrupt_result", ranks = [2], operation = 1}])");
  EXPECT_EQ(result.uncontained, "") << to_string(result);
  EXPECT_TRUE(corrupted_silently(result.report));
  EXPECT_THAT(result.report.findings, testing::IsEmpty());
}

TEST(CorruptedSilently, ByWhateverChangesOrLosesData) {
  using enum sim::FaultKind;
  for (const auto& [kind, corrupts] :
       {std::pair{corrupt_contribution, true}, std::pair{corrupt_result, true},
        std::pair{corrupt_message, true}, std::pair{drop_message, true}, std::pair{crash, false},
        std::pair{delay_message, false}}) {
    sim::Report report;
    report.fault_plan = std::make_shared<const sim::FaultPlan>(
        sim::FaultPlan{.faults = {{.kind = crash}, {.kind = kind}}});
    EXPECT_FALSE(corrupted_silently(report)) << "nothing has happened";
    report.faults = {{.fault = 1}};
    EXPECT_EQ(corrupted_silently(report), corrupts) << to_string(kind);
  }
}

TEST(FaultCheck, CorruptionThatTheProgramItselfFindsIsByPlanToo) {
  const RunResult result =
      run(data_parallel_step_program(),
          {.program = "data_parallel_step",
           .world_size = 4,
           .faults = load_faults("[[fault]]\nkind = \"corrupt_result\"\nranks = [2]\noperation = "
                                 "1\ncorruption = \"nan\"")});
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].id, "wrong_result");
  EXPECT_EQ(result.uncontained, "");
}

// A gang that shrinks to `survivors`.
class Shrinking final : public ForwardingGang {
 public:
  explicit Shrinking(std::shared_ptr<Gang> survivors)
      : ForwardingGang(std::make_shared<gang::test::CapturingGang>(4)),
        survivors_(std::move(survivors)) {}

 protected:
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override { return child; }
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions&, const CallSite&) override {
    return survivors_;
  }

 private:
  std::shared_ptr<Gang> survivors_;
};

TEST(TroubleOfSurvivors, IsAGangThatCountsWrongOrFails) {
  const auto survivors = std::make_shared<gang::test::CapturingGang>(3);
  Shrinking gang(survivors);
  EXPECT_EQ(trouble_of_survivors(gang), "1 of 3 members took part");
  survivors->reaction = [](Operation& operation) {
    *reinterpret_cast<std::int32_t*>(operation.output.data()) = 3;
  };
  EXPECT_EQ(trouble_of_survivors(gang), "");
  survivors->reaction = [](Operation&) {
    throw GangError({.kind = GangErrorKind::timeout, .reason = "nobody came"});
  };
  EXPECT_THAT(trouble_of_survivors(gang), testing::HasSubstr("nobody came"));
}

TEST(FaultCheck, TrainingContinuesWithTheSurvivors) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const RunResult result = run(data_parallel_step_program(), {.program = "data_parallel_step",
                                                                .world_size = 8,
                                                                .schedule = ScheduleChoice::random,
                                                                .faults = load_faults("production"),
                                                                .options = {.seed = seed}});
    EXPECT_EQ(result.uncontained, "") << to_string(result);
  }
}

TEST(FaultCheck, AnOutcomeThatNoFaultExplainsIsNotContained) {
  const Program program{.name = "test",
                        .description = "",
                        .run =
                            [](Rank& rank) {
                              for (;;) rank.root()->barrier();
                            },
                        .default_world_size = 2};
  const RunResult result =
      run(program, {.program = "test",
                    .faults = load_faults(R"(fault = [{kind = "slow", delay = "1s"}])"),
                    .options = {.step_limit = 1000}});
  EXPECT_EQ(result.uncontained, "the outcome is step_limit");
}

// The second one of a name is compared with the second one.
TEST(FaultCheck, OutputsOfOneNameMayDifferFromEachOther) {
  const RunResult result = run_with(
      [](Rank& rank) {
        for (std::int32_t step = 0; step < 3; ++step) {
          rank.root()->barrier();
          rank.output("step", step);
        }
      },
      R"(fault = [{kind = "slow", ranks = [1], delay = "1s"}])");
  ASSERT_FALSE(result.report.faults.empty());
  EXPECT_EQ(result.uncontained, "");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// Throws what is made up where two_sums fails.
RunResult run_that_throws(GangErrorKind kind, std::string_view faults) {
  return run_with(
      [kind](Rank& rank) {
        std::int32_t sum = 1;
        try {
          two_sums(rank);
          rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
        } catch (const GangError&) {
          sum = 0;
        }
        if (sum != 4) throw GangError({.kind = kind, .rank = rank.rank(), .reason = "made up"});
      },
      faults);
}

constexpr const char* corrupted_sum =
    R"(fault = [{kind = "corrupt_result", ranks = [2], operation = 2}])";

TEST(FaultCheck, AnErrorThatAFaultMayCauseIsContained) {
  for (const GangErrorKind kind : {GangErrorKind::timeout, GangErrorKind::peer_failed,
                                   GangErrorKind::aborted, GangErrorKind::connection})
    EXPECT_EQ(run_that_throws(kind, crash).uncontained, "") << to_string(kind);
  for (const GangErrorKind kind : {GangErrorKind::mismatch, GangErrorKind::corrupt}) {
    const RunResult result = run_that_throws(kind, corrupted_sum);
    ASSERT_FALSE(result.report.findings.empty());
    EXPECT_EQ(result.uncontained, "") << to_string(kind);
  }
}

TEST(FaultCheck, WithCorruptDataAnyErrorIsByPlan) {
  const RunResult result = run_with(
      [](Rank& rank) {
        std::int32_t sum = 1;
        rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
        if (sum != 4) throw std::logic_error("what is this?");
      },
      R"(fault = [{kind = "corrupt_result", ranks = [2], operation = 0}])");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.uncontained, "");
}

TEST(FaultCheck, TheRankWhoseOutputDiffersIsNamed) {
  const RunResult result = run_with(
      [](Rank& rank) {
        std::int32_t sum = 0;
        try {
          two_sums(rank);
        } catch (const GangError&) {
          if (rank.rank() == 2) rank.output("sum", sum);
        }
      },
      crash);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
  EXPECT_EQ(result.report.findings[0].ranks, std::vector{2});
}

TEST(FaultCheck, AnOutputThatTheOtherRunHasNotIsNotCompared) {
  const RunResult result = run_with(
      [](Rank& rank) {
        try {
          rank.output("step", rank.rank());
          two_sums(rank);
        } catch (const GangError&) {
          rank.output("step", -1);
        }
      },
      crash);
  ASSERT_FALSE(result.report.faults.empty());
  EXPECT_EQ(result.uncontained, "");
}

// What a rank draws depends on the seed.
TEST(FaultCheck, TheRunWithoutFaultsHasTheSameSeed) {
  const Program program{.name = "test", .description = "", .run = [](Rank& rank) {
                          rank.root()->barrier();
                          auto stream = rank.random_stream("data");
                          rank.output("data", static_cast<std::int64_t>(stream.below(1 << 30)));
                        }};
  const RunResult result =
      run(program, {.program = "test",
                    .world_size = 2,
                    .faults = load_faults(R"(fault = [{kind = "slow", delay = "1s"}])"),
                    .options = {.seed = 9}});
  ASSERT_FALSE(result.report.faults.empty());
  EXPECT_EQ(result.uncontained, "");
}

}  // namespace
}  // namespace gang::harness
