#include "properties/deadlocks_are_exact.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* missing_call_law = "a_missing_call_blocks_only_its_dependants";

TEST(DeadlocksAreExact, HoldsOnTheSimulator) { expect_hold(deadlocks_are_exact(), 2000); }

TEST(DeadlocksAreExact, BothDeadlocksAndCompletionsAreGenerated) {
  sim::RandomStream random(1, "deadlocks");
  Draw draw{random, 100, 16};
  int blocked = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<int> steps = blocked_steps(generate_missing_call(draw));
    if (std::ranges::any_of(steps, [](int step) { return step != no_step; })) ++blocked;
  }
  EXPECT_GT(blocked, 300);
  EXPECT_LT(blocked, 950);
}

// Ranks 0 and 1 meet on a child of their own after the barrier that rank 2 leaves out.
TEST(DeadlocksAreExact, TheHandRunFindsTheDependants) {
  MissingCall missing;
  missing.program.world = 3;
  missing.program.nodes.push_back(
      {.making = Making::create_gang, .parent = 0, .ranks = {0, 1}, .colors = {}, .keys = {}});
  missing.program.steps = {{.node = 0}, {.node = 1}, {.node = 0}};
  missing.rank = 2;
  missing.step = 0;
  // Rank 2's only other root barrier meets the first; the last one lacks it.
  EXPECT_EQ(blocked_steps(missing), (std::vector{2, 2, no_step}));
  missing.is_missing = false;
  EXPECT_EQ(blocked_steps(missing), (std::vector{no_step, no_step, no_step}));
}

TEST(DeadlocksAreExact, ADeadlockThatIsNotSeenIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.outcome == sim::Outcome::deadlock) report.outcome = sim::Outcome::completed;
  });
  const Counterexample found = expect_caught(deadlocks_are_exact(subject), missing_call_law,
                                             "ended as 'completed', expected 'deadlock'");
  EXPECT_THAT(found.text, ::testing::HasSubstr("1 gang, 1 step,"));
}

TEST(DeadlocksAreExact, ADeadlockWhereThereIsNoneIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.counts.gangs > 1) report.outcome = sim::Outcome::deadlock;
  });
  expect_caught(deadlocks_are_exact(subject), missing_call_law,
                "ended as 'deadlock', expected 'completed'");
}

TEST(DeadlocksAreExact, ABlockedRankThatIsLeftOutIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.blocked.size() > 1) report.blocked.pop_back();
  });
  expect_caught(deadlocks_are_exact(subject), missing_call_law, "are reported as blocked");
}

TEST(DeadlocksAreExact, AWrongWaitIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (!report.blocked.empty()) report.blocked.front().waits_for.clear();
  });
  expect_caught(deadlocks_are_exact(subject), missing_call_law, "is reported to wait for []");
}

TEST(DeadlocksAreExact, AConsequenceReportedAsACauseIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (!report.findings.empty()) report.findings.push_back(report.findings.front());
  });
  expect_caught(deadlocks_are_exact(subject), missing_call_law, "has 2 findings");
}

TEST(DeadlocksAreExact, ARankThatIsFoundDeadAndGoesOnIsCaught) {
  const Subject subject = reporting([](sim::Report& report) { report.blocked.clear(); });
  expect_caught(deadlocks_are_exact(subject), "what_is_dead_stays_dead",
                "was found deadlocked while others ran, but at the end [] are blocked");
}

TEST(DeadlocksAreExact, ADeadlockThatARandomScheduleAvoidsIsCaught) {
  Subject subject;
  subject.simulate = [](const sim::SimulationOptions& options, const sim::RankProgram& program) {
    sim::Report report = sim::Simulation(options).run(program);
    if (options.scheduler == sim::SchedulerKind::random) report.blocked.clear();
    return report;
  };
  expect_caught(deadlocks_are_exact(subject), "a_certain_deadlock_is_in_every_schedule",
                "a deadlock in 'every schedule' blocks ranks");
}

}  // namespace
}  // namespace gang::properties
