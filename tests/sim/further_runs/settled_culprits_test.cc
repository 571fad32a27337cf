#include "sim/further_runs/settled_culprits.h"

#include <algorithm>

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
  EXPECT_EQ(to_string(finding.location), "train.py:3");
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

TEST(SettledCulprits, WhatAProcessHasSaidOfItsGroupsStaysTheCause) {
  const Finding told{.id = std::string{finding_id::group_creation_order},
                     .ranks = {2},
                     .message = "Rank 2 made other groups.",
                     .location = {"train.py", 9, ""}};
  const Report report = run_settled({.world_size = 4}, [&told](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.add_finding(told);
    skip_in_pair(rank);
  });
  ASSERT_GE(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].message, told.message);
  EXPECT_EQ(report.findings[0].ranks, told.ranks);
  EXPECT_EQ(report.findings[0].location, told.location);
}

// In a gang of two, its calls do not tell which of them is wrong; those of the other pair do.
TEST(SettledCulprits, WhoMakesItsGangsInAnotherOrderIsTheCulpritEvenOfTwo) {
  const RankProgram program = [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    std::vector<int> members = {0, 1};
    if (rank.rank() == 3) std::ranges::swap(members[0], members[1]);
    for (const int member : members)
      tp->create_gang(std::vector{member}, {}, line(static_cast<std::uint32_t>(5 + member)));
  };
  ASSERT_THAT(run(4, program).findings.at(0).ranks, ElementsAre(2, 3));
  const Report report = run_settled({.world_size = 4}, program);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, finding_id::group_creation_order);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
}

// A branch of its own, with the usual arguments, is no reason to blame a rank.
TEST(SettledCulprits, WhoPassesSomethingElseIsTheCulpritNotWhoCallsFromAnotherLine) {
  const RankProgram program = [](SimulatedRank& rank) {
    reduce(*rank.root(), rank.rank() == 0 ? 10 : 12, rank.rank() == 3 ? 8 : 1);
  };
  const Report report = run_settled({.world_size = 4}, program);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, finding_id::mismatch_count);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
}

// Either of two may be wrong; which of them does something new is told.
TEST(SettledCulprits, OfTwoRanksItIsToldWhatBothDidThereBefore) {
  for (const bool returns : {false, true}) {
    const Report report = run_settled({.world_size = 2}, [returns](SimulatedRank& rank) {
      for (int step = 0; step < 3; ++step) {
        reduce(*rank.root(), 2);
        if (rank.rank() == 1 && step == 2 && returns) return;
        if (rank.rank() == 1 && step == 2) rank.root()->barrier({}, line(9));
        reduce(*rank.root(), 4);
      }
    });
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_THAT(report.findings[0].detail,
                testing::HasSubstr("Before this, both went on from root all_reduce at train.py:2 "
                                   "to root all_reduce at train.py:4 (2 times), as rank 0 does "
                                   "now; rank 1 "));
    EXPECT_THAT(report.findings[0].detail,
                testing::HasSubstr(returns ? "returned instead."
                                           : "called root barrier at train.py:9 instead."));
  }
}

// -- Faults --

// Every operation of rank 1 takes a second longer.
SimulationOptions with_slow_rank(int world_size) {
  FaultPlan plan;
  plan.faults.push_back({.kind = FaultKind::slow, .ranks = {1}, .delay = Duration(1s)});
  return {.world_size = world_size, .faults = std::make_shared<const FaultPlan>(plan)};
}

TEST(SettledCulprits, WhatHappensWithoutTheFaultsHasItsCulpritFromThere) {
  const RankProgram other_count = [](SimulatedRank& rank) {
    reduce(*pair_of(rank), 2, rank.rank() == 3 ? 8 : 4);
  };
  const Report report = run_settled(with_slow_rank(4), other_count);
  ASSERT_FALSE(report.faults.empty());
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
  EXPECT_EQ(report.findings[0].certainty.value().faults, Dependence::not_needed);
  EXPECT_EQ(report.findings[0].message,
            run_settled({.world_size = 4}, other_count).findings.at(0).message);
}

TEST(SettledCulprits, AnotherFindingSaysWhatHappensWithoutTheFaults) {
  // With the fault, operations time out instead of a deadlock.
  const Report report = run_settled(with_slow_rank(4), skip_in_pair);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, run(with_slow_rank(4), skip_in_pair).findings.at(0).id);
  EXPECT_THAT(report.findings[0].detail,
              HasSubstr("Without the faults: Rank 3 skipped tp all_reduce at train.py:2"));
}

TEST(SettledCulprits, AFaultsOwnFindingStaysTheCause) {
  FaultPlan plan;
  plan.faults.push_back({.kind = FaultKind::crash, .ranks = {1}, .trigger = {.operation = 1}});
  const SimulationOptions options{.world_size = 4,
                                  .faults = std::make_shared<const FaultPlan>(plan)};
  const Report report = run_settled(options, [](SimulatedRank& rank) {
    for (std::uint32_t at = 2; at < 6; ++at) reduce(*rank.root(), at);
  });
  ASSERT_FALSE(report.faults.empty());
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.certainty.value().faults, Dependence::needed);
    EXPECT_THAT(finding.message, testing::Not(HasSubstr("skipped")));
  }
}

TEST(SettledCulprits, AFaultThatHidesTheBugLeavesItsOwnFinding) {
  // Without the crash it is rank 3 that is to blame; with it, nobody comes so far.
  FaultPlan plan;
  plan.faults.push_back({.kind = FaultKind::crash, .ranks = {1}, .trigger = {.operation = 0}});
  const SimulationOptions options{.world_size = 4,
                                  .faults = std::make_shared<const FaultPlan>(plan)};
  const Report once = run(options, skip_in_pair);
  const Report report = run_settled(options, skip_in_pair);
  ASSERT_EQ(ids_of(report), ids_of(once));
  for (std::size_t i = 0; i < once.findings.size(); ++i)
    EXPECT_EQ(report.findings[i].message, once.findings[i].message);
}

TEST(SettledCulprits, APlanInWhichNothingHappensChangesNothing) {
  SimulationOptions options{.world_size = 4};
  options.faults = std::make_shared<const FaultPlan>();
  EXPECT_THAT(run_settled(options, skip_in_pair).findings.at(0).ranks, ElementsAre(3));
}

TEST(SettledCulprits, FaultsAndFindingsOfAnotherKindNeedNoRecording) {
  const Report deadlock = run(4, skip_in_pair);
  const SimulationOptions options{.world_size = 4};
  EXPECT_TRUE(recording_options(options, deadlock));
  EXPECT_FALSE(recording_options(options, Report{}));
  EXPECT_FALSE(recording_options(options, Report{.findings = {{.id = "rank_failed"}}}));
  Report faulted = deadlock;
  faulted.faults.emplace_back();
  EXPECT_FALSE(recording_options(options, faulted));
}

TEST(SettledCulprits, OfVeryManyRanksEachIsComparedToo) {
  if (!has_fibers()) GTEST_SKIP() << "threads carry 16,384 ranks at most";
  const Report report = run_settled({.world_size = 70'000}, [](SimulatedRank& rank) {
    if (rank.rank() != 60'001) rank.root()->barrier({}, line(2));
    rank.root()->barrier({}, line(3));
  });
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(60'001));
  EXPECT_THAT(report.findings[0].message, HasSubstr("Rank 60001 skipped root barrier"));
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
  EXPECT_EQ(to_string(report.findings[0].location), "train.py:4");
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
  EXPECT_EQ(to_string(report.findings[0].location), "train.py:3");
}

TEST(SettledCulprits, AServersMessagesAreNotThoseOfItsClients) {
  const RankProgram program = [](SimulatedRank& rank) {
    std::int32_t request = 0;
    std::int64_t answer = 0;
    if (rank.rank() != 0) rank.root()->send(view_of(request), 0, 0, {}, line(8));
    if (rank.rank() == 1) rank.root()->recv(view_of(answer), 0, 0, {}, line(9));
    if (rank.rank() != 0) return;
    for (int client = 1; client < 3; ++client)
      rank.root()->recv(view_of(request), client, 0, {}, line(3));
    rank.root()->send(view_of(answer), 1, 0, {}, line(4));  // and client 3 is left alone
  };
  const Report report = run_settled({.world_size = 4}, program);
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_EQ(full_message(report.findings[0]), full_message(run(4, program).findings.at(0)));
}

}  // namespace
}  // namespace gang::sim
