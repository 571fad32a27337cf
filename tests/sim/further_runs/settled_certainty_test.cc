#include <array>
#include <span>

#include "sim/further_runs/settled_run.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// The report of a run, settled by others where it leaves something open.
Report settled(const SimulationOptions& options, const RankProgram& program) {
  Report report = run(options, program);
  settle_deadlock(options, report,
                  [&](const SimulationOptions& further) { return run(further, program); });
  return report;
}

TEST(SettledCertainty, ADeadlockThatBuffersAvoidIsABufferingHazard) {
  const Report report = settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
    rank.root()->barrier();
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.findings[0].certainty,
            (Certainty{.schedules = Schedules::every, .sends = Dependence::needed}));
  EXPECT_EQ(report.certainty, report.findings[0].certainty);
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("with buffered sends the program completes"));
}

TEST(SettledCertainty, ACycleOfSendsThatBuffersAvoidIsABufferingHazardThatShowsTheCycle) {
  const Report report = settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.findings[0].certainty.value().sends, Dependence::needed);
  EXPECT_THAT(report.findings[0].detail, HasSubstr("0 → 1 → 0"));
}

// Two sends and their two receives, in different orders.
void in_other_order(SimulatedRank& rank, Gang& first, Gang& second, int first_tag, int second_tag) {
  std::int32_t value = 0;
  if (rank.rank() == 0) {
    first.send(view_of(value), 1, first_tag);
    second.send(view_of(value), 1, second_tag);
  } else {
    second.recv(view_of(value), 0, second_tag);
    first.recv(view_of(value), 0, first_tag);
  }
}

TEST(SettledCertainty, AnotherOrderOfTagsIsNoWrongTag) {
  const Report report = settled({.world_size = 2}, [](SimulatedRank& rank) {
    in_other_order(rank, *rank.root(), *rank.root(), 1, 2);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_THAT(report.findings[0].near_misses, IsEmpty());
  EXPECT_THAT(full_message(report.findings[0]),
              testing::Not(HasSubstr("would match if the tags were equal")));
}

TEST(SettledCertainty, AnotherOrderOfGangsIsNoWrongGang) {
  for (const ExecutionModel execution :
       {ExecutionModel::independent, ExecutionModel::stream_ordered}) {
    const Report report =
        settled({.world_size = 2, .execution = execution}, [](SimulatedRank& rank) {
          const auto other = child_of(*rank.root(), {0, 1});
          in_other_order(rank, *rank.root(), *other, 0, 0);
        });
    EXPECT_THAT(ids_of(report), ElementsAre("buffering_hazard")) << to_string(report);
  }
}

// Ranks 0 and 1 send first, as only buffers allow. Then rank 0 gets a message of each other one.
Report exchange_and_collect(int world_size, std::span<const int> sources) {
  return settled({.world_size = world_size}, [sources](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() < 2) {
      rank.root()->send(view_of(value), 1 - rank.rank());
      rank.root()->recv(view_of(value), 1 - rank.rank());
    }
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0, 1);
    for (const int source : sources) rank.root()->recv(view_of(value), source, 1);
  });
}

TEST(SettledCertainty, AllSchedulesWithBuffersAreSeenWhereTheyAreFew) {
  const Report report = exchange_and_collect(3, std::array{any_rank, any_rank});
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.certainty,
            (Certainty{.schedules = Schedules::every, .sends = Dependence::needed}));
  EXPECT_EQ(report.findings[0].certainty, report.certainty);
}

TEST(SettledCertainty, WhatAFewSchedulesWithBuffersShowIsNotClaimedOfAll) {
  const Report report =
      exchange_and_collect(5, std::array{any_rank, any_rank, any_rank, any_rank});  // 24 classes
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.certainty, (Certainty{.schedules = Schedules::every,
                                         .sends = Dependence::needed,
                                         .decided_in = Schedules::at_least_this}));
  EXPECT_THAT(to_string(*report.certainty), HasSubstr("in the schedules that were tried"));
}

// The first schedule with buffers completes, another one does not.
TEST(SettledCertainty, BuffersAreNoCureWhereOneOfTheSchedulesBlocks) {
  const Report report = exchange_and_collect(3, std::array{any_rank, 2});
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(ids_of(report), ElementsAre("point_to_point_cycle"));
  EXPECT_EQ(report.certainty, (Certainty{.schedules = Schedules::every,
                                         .sends = Dependence::not_needed,
                                         .otherwise = "participant_missing",
                                         .decided_in = Schedules::at_least_this}));
}

TEST(SettledCertainty, ADeadlockThatBuffersDoNotAvoidSaysWhatBecomesOfIt) {
  const Report report = settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 1);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 2);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_tag"));
  EXPECT_EQ(report.findings[0].certainty, (Certainty{.schedules = Schedules::every,
                                                     .sends = Dependence::not_needed,
                                                     .otherwise = "participant_missing"}));
}

// Gloo's sends wait for their receives, whatever the options say.
TEST(SettledCertainty, SendsOfAnotherBackendAreSettledOnSimulatedGangs) {
  Report report;
  report.outcome = Outcome::deadlock;
  report.certainty = Certainty{.sends = Dependence::open};
  const auto settling =
      settling_options({.world_size = 2, .backend = SimulatedBackend::gloo}, report);
  ASSERT_TRUE(settling);
  EXPECT_EQ(settling->backend, SimulatedBackend::sim);
  EXPECT_TRUE(settling->sends.buffered_bytes);
}

TEST(SettledCertainty, StreamsAreSettledByARunWithoutThem) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = settled(options, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    Work first = (rank.rank() == 0 ? a : b)->start_barrier();
    Work second = (rank.rank() == 0 ? b : a)->start_barrier();
    first.wait();
    second.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion"));
  EXPECT_EQ(report.findings[0].certainty,
            (Certainty{.schedules = Schedules::every, .streams = Dependence::needed}));
}

TEST(SettledCertainty, LeavesAloneWhatIsNotOpen) {
  const SimulationOptions options{.world_size = 2};
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(settling_options(options, report), std::nullopt);
  EXPECT_EQ(settling_options(options, Report{}), std::nullopt);
}

// A message that no rank will receive hangs with rendezvous sends, and is lost with buffered ones.
TEST(SettledCertainty, BufferingDoesNotHelpAMessageThatNoRankReceives) {
  const Report report = settled({.world_size = 2}, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_EQ(report.certainty.value().sends, Dependence::not_needed);
  EXPECT_EQ(report.certainty.value().otherwise, "unreceived_message");
}

TEST(SettledCertainty, AReplayedScheduleIsNotFollowed) {
  const RankProgram program = [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->send(view_of(value), 1 - rank.rank());
    rank.root()->recv(view_of(value), 1 - rank.rank());
  };
  SimulationOptions options{.world_size = 2, .scheduler = SchedulerKind::random};
  options.schedule = Recording::on;
  const Report recorded = run(options, program);
  options.scheduler = SchedulerKind::replay;
  options.replay = recorded.schedule;
  const Report report = settled(options, program);
  ASSERT_THAT(ids_of(report), ElementsAre("buffering_hazard"));
  EXPECT_EQ(report.certainty.value().sends, Dependence::needed);
}

Report with_a_fault(const char* id) {
  Report report{.outcome = Outcome::deadlock};
  report.findings = {{.id = id, .certainty = Certainty{.faults = Dependence::open}},
                     {.id = "wrong_result"}};
  report.certainty = report.findings[0].certainty;
  report.faults = {{.description = "rank 1 stalled"}};
  return report;
}

TEST(SettledFaults, AreTheCauseWhereTheRunWithoutThemCompletes) {
  Report report = with_a_fault("timed_out");
  settle_faults(report, Report{});
  EXPECT_EQ(report.certainty, Certainty{.faults = Dependence::needed});
  for (const Finding& finding : report.findings)
    EXPECT_EQ(finding.certainty, Certainty{.faults = Dependence::needed});
}

TEST(SettledFaults, AreNotWhereTheSameIsFoundWithoutThem) {
  Report report = with_a_fault("timed_out");
  Report clean{.outcome = Outcome::failed};
  clean.findings = {{.id = "rank_failed"}, {.id = "timed_out"}};
  settle_faults(report, clean);
  EXPECT_EQ(report.findings[0].certainty, Certainty{.faults = Dependence::not_needed});
  EXPECT_EQ(report.certainty, report.findings[0].certainty);
  EXPECT_EQ(report.findings[1].certainty,
            (Certainty{.faults = Dependence::not_needed, .otherwise = "rank_failed"}));
}

TEST(SettledFaults, AnOutcomeWithoutAFindingIsNamed) {
  Report report = with_a_fault("timed_out");
  settle_faults(report, Report{.outcome = Outcome::step_limit});
  EXPECT_EQ(report.findings[0].certainty.value().otherwise, "step_limit");
}

TEST(SettledFaults, ADeadlockWithFaultsIsNotSettledOtherwise) {
  Report report = with_a_fault("deadlock");
  report.certainty->sends = Dependence::open;
  EXPECT_EQ(settling_options({}, report), std::nullopt);
}

}  // namespace
}  // namespace gang::sim
