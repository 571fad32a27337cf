#include "sim/further_runs/settled_culprits.h"

#include "sim/faults/fault_plan.h"
#include "sim/further_runs/settled_run.h"
#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void skip_in_pair(SimulatedRank& rank) {
  const auto tp = pair_of(rank);
  if (rank.rank() != 3) reduce(*tp, 2);
  rank.root()->barrier({}, line(3));
}

TEST(SettledCulprits, TheCulpritAndItsOwnLineAreNamedAndTheWaitIsExplained) {
  const Report report = run_settled({.world_size = 4}, skip_in_pair);
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(3));
  EXPECT_EQ(finding.location, "train.py:3");
  EXPECT_EQ(finding.message,
            "Rank 3 skipped tp all_reduce at train.py:2, which the other 3 ranks called, and went "
            "on to root barrier at train.py:3.");
  EXPECT_EQ(finding.detail, full_message(run(4, skip_in_pair).findings.at(0)));
  EXPECT_THAT(finding.divergence.value().next.at(0).ranks, ElementsAre(0, 1, 2));
}

TEST(SettledCulprits, RecordedRunsAreNotMadeAgain) {
  int runs = 0;
  const RankProgram program = [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    skip_in_pair(rank);
  };
  run_settled({.world_size = 4}, program);
  EXPECT_EQ(runs, 2);
  run_settled({.world_size = 4, .timeline = Recording::on}, program);
  EXPECT_EQ(runs, 3);
}

TEST(SettledCulprits, AProgramThatRunsAnotherCourseIsNotJudgedByIt) {
  int runs = 0;
  const RankProgram program = [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    if (runs > 1) reduce(*rank.root(), 8);
    skip_in_pair(rank);
  };
  const Report report = run_settled({.world_size = 4}, program);
  EXPECT_EQ(report.findings.at(0).message, run(4, skip_in_pair).findings.at(0).message);
}

TEST(SettledCulprits, FaultsAndFindingsOfAnotherKindNeedNoRecording) {
  const Report deadlock = run(4, skip_in_pair);
  SimulationOptions options{.world_size = 4};
  EXPECT_TRUE(recording_options(options, deadlock));
  EXPECT_FALSE(recording_options(options, Report{}));
  EXPECT_FALSE(recording_options(options, Report{.findings = {{.id = "rank_failed"}}}));
  options.faults = std::make_shared<const FaultPlan>();
  EXPECT_FALSE(recording_options(options, deadlock));
}

TEST(SettledCulprits, TheRecordingRunKeepsTheSchedule) {
  SimulationOptions options{.world_size = 4, .seed = 7, .scheduler = SchedulerKind::random};
  options.trace = Recording::on;
  const auto recording = recording_options(options, run(4, skip_in_pair));
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->timeline, Recording::on);
  EXPECT_EQ(recording->trace, Recording::off);
  EXPECT_EQ(recording->scheduler, SchedulerKind::random);
  EXPECT_EQ(recording->seed, 7U);
}

TEST(SettledCulprits, TwoThatDoTheSameShareASentence) {
  const Report report = run_settled({.world_size = 8}, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    if (rank.rank() != 3 && rank.rank() != 4) reduce(*tp, 2);
    rank.root()->barrier({}, line(3));
  });
  EXPECT_THAT(report.findings.at(0).ranks, ElementsAre(3, 4));
  EXPECT_THAT(report.findings[0].message, HasSubstr("Ranks 3-4 skipped tp all_reduce"));
}

TEST(SettledCulprits, WithoutAMajorityBothSidesAreShown) {
  const Report report = run_settled({.world_size = 2}, [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier({}, line(2));
    reduce(*rank.root(), 3);
  });
  const std::string text = full_message(report.findings.at(0));
  EXPECT_THAT(text, HasSubstr("train.py:2"));
  EXPECT_THAT(text, HasSubstr("train.py:3"));
}

TEST(SettledCulprits, AnExtraCallIsNoIterationMore) {
  const Report report = run_settled({.world_size = 4}, [](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.root()->barrier({}, line(4));
    rank.root()->barrier({}, line(7));
    rank.root()->barrier({}, line(10));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_EQ(report.findings[0].location, "train.py:4");
}

TEST(SettledCulprits, ASourceThatExplainsBothWaitsIsWrong) {
  const Report report = run_settled({.world_size = 3}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 0, {}, line(2));
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 2, 0, {}, line(3));
    rank.root()->barrier({}, line(4));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(report.findings[0].location, "train.py:3");
}

}  // namespace
}  // namespace gang::sim
