#include "sim/further_runs/settled_run.h"

#include "sim/faults/fault_plan.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

SimulationOptions with_a_stall(int world_size) {
  SimulationOptions options{.world_size = world_size, .timeout = 1s};
  options.faults = std::make_shared<const FaultPlan>(
      FaultPlan{.faults = {{.kind = FaultKind::stall, .ranks = {1}, .trigger = {.operation = 0}}}});
  return options;
}

void barrier(SimulatedRank& rank) { rank.root()->barrier(); }

TEST(SettledRun, AFaultIsTheCauseOnlyOnceARunWithoutItHasShownIt) {
  EXPECT_EQ(run(with_a_stall(2), barrier).findings.at(0).certainty.value().faults,
            Dependence::open);
  const Report settled = run_settled(with_a_stall(2), barrier);
  EXPECT_EQ(settled.findings.at(0).certainty.value().faults, Dependence::needed);
}

TEST(SettledRun, AFaultIsNotTheCauseOfWhatHappensWithoutIt) {
  const Report report = run_settled(with_a_stall(3), [](SimulatedRank& rank) {
    if (rank.rank() != 2) barrier(rank);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out"));
  const Certainty certainty = report.findings[0].certainty.value();
  EXPECT_EQ(certainty.faults, Dependence::not_needed);
  EXPECT_EQ(certainty.otherwise, "participant_missing");
}

TEST(SettledRun, ADeadlockIsSettled) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  EXPECT_EQ(report.certainty.value().sends, Dependence::needed);
}

TEST(SettledRun, AMessageRaceThatEndsTheRunIsFound) {
  const Report report = run_settled({.world_size = 3}, [](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() > 0) return rank.root()->send(view_of(value), 0);
    rank.root()->recv(view_of(value));
    rank.root()->recv(view_of(value), 2);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("message_race"));
}

TEST(SettledRun, RunsOnceWhereNothingIsOpen) {
  int runs = 0;
  const Report report = run_settled({.world_size = 2}, [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    barrier(rank);
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(runs, 1);
}

TEST(SettledRun, AskedWhetherOutputsDifferAfterEachFurtherRun) {
  Report report;
  report.race_candidates.resize(2);
  int runs = 0;
  const RunAgain again = [&runs](const SimulationOptions&) {
    ++runs;
    return Report{.forced_receive_completed = true};
  };
  find_message_race({}, report, again, [&runs] { return runs == 2; });
  EXPECT_EQ(runs, 2);
  EXPECT_THAT(ids_of(report), ElementsAre("message_race"));
}

}  // namespace
}  // namespace gang::sim
