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

// -- Parts --

TEST(FurtherRun, RecordsNothingAndFollowsNoSchedule) {
  const SimulationOptions options{.scheduler = SchedulerKind::replay,
                                  .replay = Schedule{},
                                  .trace = Recording::on,
                                  .call_stacks = Recording::on,
                                  .timeline = Recording::on,
                                  .schedule = Recording::on};
  const SimulationOptions other = another_run(options);
  EXPECT_EQ(other.scheduler, SchedulerKind::round_robin);
  EXPECT_EQ(other.replay, std::nullopt);
  for (const Recording recording : {other.trace, other.call_stacks, other.timeline, other.schedule})
    EXPECT_EQ(recording, Recording::off);
}

TEST(FurtherRun, IsOtherwiseTheSame) {
  const SimulationOptions options{
      .world_size = 3, .seed = 7, .scheduler = SchedulerKind::random, .step_limit = 9};
  const SimulationOptions other = another_run(options);
  EXPECT_EQ(other.world_size, 3);
  EXPECT_EQ(other.seed, 7U);
  EXPECT_EQ(other.scheduler, SchedulerKind::random);
  EXPECT_EQ(other.step_limit, 9U);
}

// The message race of a program that leaves its result in `result`, found by neighbours of a run.
std::optional<Finding> race_of(const SimulationOptions& options, const RankProgram& program,
                               const std::int32_t& result) {
  Report report = run(options, program);
  EXPECT_TRUE(report.holds()) << to_string(report);
  look_around(
      options, report, [&](const SimulationOptions& further) { return run(further, program); },
      Neighbours::of_messages, [&result] { return static_cast<std::uint64_t>(result); });
  if (report.holds()) return std::nullopt;
  EXPECT_THAT(ids_of(report), ElementsAre("message_race"));
  return report.findings.front();
}

// Ranks 1 and 2 send their rank to rank 0.
void send_rank(SimulatedRank& rank) {
  std::int32_t value = rank.rank();
  rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("race.cc", 3));
}

TEST(MessageRace, AResultThatDependsOnTheSenderIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        std::int32_t other = 0;
        rank.root()->recv(view_of(result), any_rank, 0, {}, CallSite::at("race.cc", 5));
        rank.root()->recv(view_of(other));
      },
      result);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->id, "message_race");
  EXPECT_THAT(finding->ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(to_string(finding->location), "race.cc:5");
  EXPECT_EQ(finding->message,
            "Rank 0 received from any source at race.cc:5 and took the message of rank 1, sent at "
            "race.cc:3.");
  EXPECT_EQ(finding->detail,
            "It could also take that of rank 2, sent at race.cc:3: in a run where it did, the "
            "outputs differ.");
}

TEST(MessageRace, AResultThatDoesNotIsNone) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        std::int32_t one = 0;
        std::int32_t other = 0;
        rank.root()->recv(view_of(one));
        rank.root()->recv(view_of(other));
        result = one + other;
      },
      result);
  EXPECT_FALSE(finding) << to_string(*finding);
}

TEST(MessageRace, AMessageThatComesAfterTheReceiveIsNone) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        std::int32_t other = 0;
        if (rank.rank() == 1) send_rank(rank);
        if (rank.rank() == 0) rank.root()->recv(view_of(result));
        rank.root()->barrier();
        if (rank.rank() == 2) send_rank(rank);
        if (rank.rank() == 0) rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_FALSE(finding) << to_string(*finding);
}

TEST(MessageRace, ADeadlockThatDependsOnTheSenderIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(result), 2);
      },
      result);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->detail, HasSubstr("the run ends with participant_missing"));
}

// What comes later, but for no reason, could come first as well.
TEST(MessageRace, AMessageThatComesLaterButIndependentlyIsOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 4},
      [&result](SimulatedRank& rank) {
        std::int32_t other = 0;
        if (rank.rank() == 3) rank.root()->send(view_of(other), 2);
        if (rank.rank() == 2) rank.root()->recv(view_of(other), 3);
        if (rank.rank() == 1 || rank.rank() == 2) return send_rank(rank);
        if (rank.rank() != 0) return;
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_TRUE(finding);
}

// Time passes only once no rank can go on.
TEST(MessageRace, AMessageThatComesLaterInTimeIsNone) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        std::int32_t other = 0;
        if (rank.rank() == 2) rank.runtime().sleep_for(1s);
        if (rank.rank() > 0) return send_rank(rank);
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_FALSE(finding) << to_string(*finding);
}

TEST(MessageRace, EqualMessagesWhoseSendersMatterAreOne) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return rank.root()->send(view_of(result), 0);
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(result), 2);
      },
      result);
  EXPECT_TRUE(finding);
}

TEST(MessageRace, IsFoundWithBufferedSends) {
  std::int32_t result = 0;
  const auto finding = race_of(
      {.world_size = 3, .sends = SendMode::buffered(64)},
      [&result](SimulatedRank& rank) {
        if (rank.rank() > 0) return send_rank(rank);
        std::int32_t other = 0;
        rank.root()->recv(view_of(result));
        rank.root()->recv(view_of(other));
      },
      result);
  EXPECT_TRUE(finding);
}

// -- What is decisive --

// Rank 0 expects rank 2's message second, of which no rank says anything.
void expect_rank_1_first(SimulatedRank& rank) {
  std::int32_t value = 0;
  if (rank.rank() > 0) return send_rank(rank);
  rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("race.cc", 5));
  rank.root()->recv(view_of(value), 1);
}

Surroundings surroundings_of(int world_size, const RankProgram& program,
                             Neighbours neighbours = Neighbours::all) {
  const SimulationOptions options{.world_size = world_size};
  Report report = run(options, program);
  return look_around(
      options, report, [&](const SimulationOptions& further) { return run(further, program); },
      neighbours);
}

TEST(LookAround, TellsWhatMakesARunFail) {
  EXPECT_EQ(surroundings_of(3, expect_rank_1_first).decisive,
            "the receive from any source on rank 0 at race.cc:5 took the message of rank 1 "
            "(race.cc:3), not that of rank 2 (race.cc:3)");
}

TEST(LookAround, NothingIsDecisiveOfARunThatFailsInAnyCase) {
  const Surroundings seen = surroundings_of(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() > 0) return send_rank(rank);
    for (int i = 0; i < 3; ++i) rank.root()->recv(view_of(value));
  });
  EXPECT_EQ(seen.contests, 1U);
  EXPECT_EQ(seen.decisive, "");
}

TEST(LookAround, ARunThatFailsHasNeighboursOnlyIfAllAreAskedFor) {
  for (const Neighbours neighbours : {Neighbours::none, Neighbours::of_messages}) {
    const Surroundings seen = surroundings_of(3, expect_rank_1_first, neighbours);
    EXPECT_EQ(seen.contests, std::nullopt);
    EXPECT_EQ(seen.decisive, "");
  }
}

TEST(LookAround, MakesNoRunWhereNothingIsContested) {
  int runs = 0;
  const Surroundings seen = surroundings_of(2, [&runs](SimulatedRank& rank) {
    if (rank.rank() == 0) ++runs;
    barrier(rank);
  });
  EXPECT_EQ(seen.contests, std::nullopt);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace gang::sim
