// Every order in which ranks use a store.
#include <chrono>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/harness/conductor/store_requests.h"

namespace gang::harness {
namespace {

using namespace requested;  // NOLINT(google-build-using-namespace)
using enum StoreFunction;
using End = sim::EverySchedule::End;

std::uint64_t classes_of(const Requests& requests) {
  const Explored all = explored(requests);
  EXPECT_EQ(all.every.end, End::all_seen);
  return all.every.classes;
}

TEST(KeyStoreSchedules, ARendezvousComesInOneWay) {
  Requests requests(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    requests[rank].push_back(about_key(set, fmt::format("rank {}", rank), {"here"}));
    for (std::size_t other = 0; other < 4; ++other)
      requests[rank].push_back(about_key(get, fmt::format("rank {}", other)));
  }
  EXPECT_EQ(classes_of(requests), 1U);
}

TEST(KeyStoreSchedules, OfRanksThatAgreeOnAValueAnyMakesIt) {
  EXPECT_EQ(classes_of(of_all(4, about_key(compare_set, "layout", {"", "[0, 1]"}))), 4U);
}

// Whoever makes it: rank 0 may see the key before rank 1 sees the flag.
TEST(KeyStoreSchedules, EachOfThoseThatAgreeMayBeFirst) {
  const StoreMessage agree = about_key(compare_set, "layout", {"", "[0, 1]"});
  const Explored checked = explored({{about_key(check, "layout"), about_key(set, "flag", {""})},
                                     {about_key(check, "flag"), agree},
                                     {agree}});
  EXPECT_EQ(checked.results.size(), 4U);
  const Explored awaited =
      explored({{about_key(StoreFunction::wait, "layout"), about_key(set, "flag", {""})},
                {about_key(check, "flag"), agree},
                {agree}});
  EXPECT_EQ(awaited.results.size(), 2U);
}

TEST(KeyStoreSchedules, ComparisonsThatFailComeInOneWay) {
  Requests requests = of_all(3, about_key(compare_set, "layout", {"other", "new"}));
  for (auto& own : requests) own.insert(own.begin(), about_key(StoreFunction::wait, "begun"));
  requests[0].insert(requests[0].begin(),
                     {about_key(set, "layout", {"old"}), about_key(set, "begun", {""})});
  EXPECT_EQ(classes_of(requests), 1U);
}

TEST(KeyStoreSchedules, CountersShowEveryOrder) {
  EXPECT_EQ(classes_of(of_all(3, about_key(add, "arrived", {}, 1))), 6U);
  EXPECT_EQ(explored(of_all(3, about_key(add, "arrived", {}, 1))).results.size(), 6U);
}

TEST(KeyStoreSchedules, ReadersOfACounterCommute) {
  // Rank 0 counts once; each of the others looks before or after that.
  Requests requests = of_all(3, about_key(add, "arrived", {}, 0));
  requests[0] = {about_key(set, "arrived", {"1"}), about_key(set, "begun", {""}),
                 about_key(add, "arrived", {}, 1)};
  for (std::size_t rank = 1; rank < 3; ++rank)
    requests[rank].insert(requests[rank].begin(), about_key(StoreFunction::wait, "begun"));
  EXPECT_EQ(classes_of(requests), 4U);
}

TEST(KeyStoreSchedules, AWaitingRankMaySeeAnyValueThatFollows) {
  // "first" is overwritten at some time; the key is there for good.
  const Requests requests = {
      {about_key(set, "state", {"first"}), about_key(set, "state", {"second"})},
      {about_key(get, "state")},
      {about_key(StoreFunction::wait, "state")}};
  const Explored all = explored(requests);
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 2U);
  EXPECT_EQ(all.results.size(), 2U);
}

// Rank 0 makes the key twice, and in between erases it.
Requests made_twice(const std::vector<StoreMessage>& of_other) {
  return {{about_key(set, "k", {"first"}), about_key(erase, "k"), about_key(set, "k", {"second"})},
          of_other};
}

TEST(KeyStoreSchedules, AWaitSeesTheKeyBeforeItIsErasedOrOnceItHasBeenMadeAgain) {
  const Explored all = explored(made_twice({about_key(get, "k")}));
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.results.size(), 2U);
}

TEST(KeyStoreSchedules, AWaitForSeveralKeysSeesThemAtOneTime) {
  // Rank 1 makes "b" before rank 0 erases "a", or after that.
  StoreMessage both = about_key(StoreFunction::wait, "a");
  both.keys.emplace_back("b");
  const Explored all = explored(
      {{about_key(set, "a", {""}), about_key(erase, "a")}, {about_key(set, "b", {""})}, {both}});
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.results.size(), 2U);  // completed, and a deadlock
}

TEST(KeyStoreSchedules, OneOfTheRanksErasesAKey) {
  Requests requests = of_all(4, about_key(erase, "k"));
  requests[0].insert(requests[0].begin(), about_key(set, "k", {""}));
  const Explored all = explored(requests);
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.results.size(), 4U);
}

TEST(KeyStoreSchedules, AKeyThatIsErasedIsCountedUntilThen) {
  const Explored all = explored(made_twice({{.function = count}}));
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 4U);
  EXPECT_EQ(all.results.size(), 2U);
}

TEST(KeyStoreSchedules, ACountSeesEachKeyOrNot) {
  const Requests requests = {
      {{.function = count}}, {about_key(set, "a", {"x"})}, {about_key(set, "b", {"y"})}};
  const Explored all = explored(requests);
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 4U);
  EXPECT_EQ(all.results.size(), 3U);
}

TEST(KeyStoreSchedules, ACheckSeesTheKeyOrNot) {
  const Explored all = explored({{about_key(check, "k")}, {about_key(set, "k", {"x"})}});
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.results.size(), 2U);
}

// Rank 1 sets the key after 1 ms.
Explored waits_of(Duration timeout) {
  StoreMessage wait = about_key(StoreFunction::wait, "k");
  wait.timeout = timeout;
  Explored explored;
  std::string result;
  explored.every = sim::run_every_schedule(
      {.world_size = 2},
      [&](const sim::SimulationOptions& options) {
        KeyStore store;
        return sim::Simulation(options).run([&](sim::SimulatedRank& rank) {
          if (rank.rank() == 0) {
            result = store.perform(wait, rank).status == Status::done ? "ok" : "timeout";
            return;
          }
          rank.runtime().sleep_for(std::chrono::milliseconds(1));
          store.perform(about_key(set, "k", {"x"}), rank);
        });
      },
      [&](const sim::ExploredRun&) {
        explored.results.insert(result);
        return true;
      });
  EXPECT_EQ(explored.every.end, End::all_seen);
  return explored;
}

TEST(KeyStoreSchedules, AKeyIsSetInTheLastInstantOfAWaitOrAfterIt) {
  using Results = std::set<std::string>;
  EXPECT_EQ(waits_of(std::chrono::microseconds(1)).results, Results{"timeout"});
  EXPECT_EQ(waits_of(std::chrono::milliseconds(1)).results, (Results{"ok", "timeout"}));
  EXPECT_EQ(waits_of(std::chrono::milliseconds(1)).every.classes, 2U);
  EXPECT_EQ(waits_of(std::chrono::milliseconds(2)).results, Results{"ok"});
}

TEST(KeyStoreSchedules, AWaitForNoTimeIsALook) {
  StoreMessage wait = about_key(get, "k");
  wait.timeout = Duration::zero();
  const Explored all = explored({{wait}, {about_key(set, "k", {"x"})}});
  EXPECT_EQ(all.every.end, End::all_seen);
  EXPECT_EQ(all.every.classes, 2U);
  EXPECT_EQ(all.results.size(), 2U);
}

// Rank 0 asks until the answer is another one, which it is once rank 1 has done its part.
void expect_end_of_loop(const StoreMessage& question, const StoreMessage& of_other) {
  KeyStore store;
  const sim::EverySchedule every = sim::run_every_schedule(
      {.world_size = 2, .step_limit = 10'000},
      [&](const sim::SimulationOptions& options) {
        store.clear();
        return sim::Simulation(options).run([&](sim::SimulatedRank& rank) {
          if (rank.rank() == 1) return void(store.perform(of_other, rank));
          while (store.perform(question, rank).number == 0) {
          }
        });
      },
      [](const sim::ExploredRun& ran) {
        EXPECT_TRUE(ran.report.holds()) << to_string(ran.report);
        return true;
      });
  EXPECT_EQ(every.end, End::unguided);
}

TEST(KeyStoreSchedules, ALoopThatAsksInVainLetsTheOthersGoOn) {
  expect_end_of_loop(about_key(add, "n", {}, 0), about_key(add, "n", {}, 1));
  expect_end_of_loop(about_key(erase, "k"), about_key(set, "k", {""}));
}

// Of a lock that rank 1 lets go, and breaks once it is taken again.
TEST(KeyStoreSchedules, WhatHasSucceededTwiceIsNotDoneAgain) {
  const StoreMessage lock = about_key(compare_set, "lock", {"", "taken"});
  const Requests requests = {
      {lock, about_key(get, "free"), lock},
      {about_key(get, "lock"), about_key(erase, "lock"), about_key(set, "free", {""}),
       about_key(check, "lock"), about_key(set, "lock", {"broken"})}};
  std::string result;
  EXPECT_TRUE(run_requests(requests, options_of(requests), result).holds());
  EXPECT_EQ(result, "completed 1 taken;0 ;1 taken;|0 taken;1;0;1;0;");
}

}  // namespace
}  // namespace gang::harness
