// Tests of what a failure is contrasted with: the run that decides its decisive choice otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/schedule/deeds.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

EverySchedule first_failure_of(const SimulationOptions& options, const RankProgram& program,
                               const RunHolds& holds = completed_without_findings) {
  return run_every_schedule(
      options, [&](const SimulationOptions& again) { return run(again, program); },
      [&holds](const ExploredRun& ran) { return holds(ran); }, 1, holds);
}

// Rank 0 wants a second message of `second`: it hangs if its first one was of that rank.
RankProgram receives_any_then_of(int second) {
  return [second](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0, 0, {}, CallSite::at("s", 1));
    rank.root()->recv(view_of(value), any_rank, 0, {}, CallSite::at("r", 2));
    rank.root()->recv(view_of(value), second, 0, {}, CallSite::at("r", 3));
  };
}

// The second run: its beginning is that of the first one.
TEST(ContrastOfAFailure, ShowsBothWaysOfAMessage) {
  const EverySchedule every = first_failure_of({.world_size = 3}, receives_any_then_of(2));
  EXPECT_EQ(every.classes, 2U);
  EXPECT_EQ(every.holds_otherwise, true);
  ASSERT_TRUE(every.continuations);
  const auto& [found, otherwise] = *every.continuations;
  EXPECT_THAT(deeds_of(found), ElementsAre("0: receives (r:2)", "2: sends to 0 (s:1)",
                                           "0: calls (r:3)", "1: sends (s:1)"));
  EXPECT_EQ(found.end, finding_id::participant_missing);
  EXPECT_THAT(deeds_of(otherwise), ElementsAre("0: receives (r:2)", "1: sends to 0 (s:1)",
                                               "2: sends (s:1)", "0: calls (r:3)"));
  EXPECT_EQ(otherwise.end, "completed");
}

// The first run fails, and a later one holds.
TEST(ContrastOfAFailure, ShowsBothWaysWhereTheFirstRunFails) {
  const EverySchedule every = first_failure_of({.world_size = 3}, receives_any_then_of(1));
  EXPECT_EQ(every.classes, 1U);
  EXPECT_EQ(every.holds_otherwise, true);
  ASSERT_TRUE(every.decisive && every.continuations);
  EXPECT_EQ(every.continuations->found.end, finding_id::participant_missing);
  EXPECT_EQ(every.continuations->otherwise.end, "completed");
  EXPECT_EQ(every.continuations->found.deeds.at(1).context, "1");
  EXPECT_EQ(every.continuations->otherwise.deeds.at(1).context, "2");
}

TEST(ContrastOfAFailure, TellsLocksWaitsAndNotificationsApart) {
  const auto program = [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    const auto ready = rank.runtime().make_condition();
    const auto loader = rank.runtime().start_thread("loader", [&] {
      const std::unique_lock<RuntimeMutex> lock(*mutex);
      ready->notify_one();
    });
    {
      std::unique_lock<RuntimeMutex> lock(*mutex);
      ready->wait(lock);  // whether it has been notified is not asked
    }
    loader->join();
  };
  const EverySchedule every = first_failure_of({.world_size = 1}, program);
  ASSERT_TRUE(every.continuations);
  EXPECT_THAT(deeds_of(every.continuations->found),
              ElementsAre("0/loader: locks a mutex", "0/loader: notifies a condition",
                          "0: locks a mutex", "0: waits for a condition"));
  EXPECT_EQ(every.continuations->found.end, "deadlock");
  EXPECT_THAT(deeds_of(every.continuations->otherwise),
              ElementsAre("0: locks a mutex", "0: waits for a condition", "0/loader: locks a mutex",
                          "0/loader: notifies a condition", "0: locks a mutex"));
}

TEST(ContrastOfAFailure, AnAttemptThatFailsIsNotALock) {
  const auto program = [](SimulatedRank& rank) {
    const auto mutex = rank.runtime().make_mutex();
    const auto other = rank.runtime().make_mutex();
    const auto holder = rank.runtime().start_thread("holder", [&] {
      const std::unique_lock<RuntimeMutex> held(*mutex);
      const std::unique_lock<RuntimeMutex> further(*other);  // here rank 0 can go on
    });
    const bool is_locked = mutex->try_lock();
    if (is_locked) mutex->unlock();
    holder->join();
    if (!is_locked) throw std::runtime_error("the mutex was taken");
  };
  const EverySchedule every = first_failure_of({.world_size = 1}, program);
  ASSERT_TRUE(every.decisive && every.continuations);
  EXPECT_THAT(
      deeds_of(every.continuations->found),
      testing::IsSupersetOf<std::string>({"0/holder: locks mutex A", "0: tries to lock mutex A"}));
  EXPECT_EQ(every.continuations->otherwise.end, "completed");
}

TEST(ContrastOfAFailure, IsJudgedAsTheCallerDoes) {
  int asked = 0;
  const EverySchedule every = first_failure_of(
      {.world_size = 3}, receives_any_then_of(2), [&asked](const ExploredRun& ran) {
        ++asked;
        EXPECT_NE(ran.guide, nullptr);
        return ran.report.outcome == Outcome::deadlock;  // what this one wants to see
      });
  EXPECT_GE(asked, 2);
  EXPECT_EQ(every.holds_otherwise, true);
  ASSERT_TRUE(every.continuations);
  EXPECT_EQ(every.continuations->found.end, "completed");
  EXPECT_EQ(every.continuations->otherwise.end, finding_id::participant_missing);
}

TEST(EndOf, IsTheFirstFindingOrTheOutcome) {
  Report report;
  EXPECT_EQ(end_of(report), "completed");
  report.outcome = Outcome::deadlock;
  EXPECT_EQ(end_of(report), "deadlock");
  report.findings.push_back({.id = "wrong_result"});
  EXPECT_EQ(end_of(report), "wrong_result");
}

}  // namespace
}  // namespace gang::sim
