// Every order in which ranks use a store.
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "harness/conductor/key_store.h"
#include "sim/further_runs/every_schedule.h"
#include "sim/schedule/interleavings.h"
#include "sim/schedule/step_class.h"
#include "tests/harness/conductor/bytes.h"

namespace gang::harness {
namespace {

using enum StoreFunction;
using End = sim::EverySchedule::End;

// What each rank asks of the store, in its order.
using Requests = std::vector<std::vector<StoreMessage>>;

StoreMessage about_key(StoreFunction function, const std::string& key,
                       std::initializer_list<std::string_view> values = {},
                       std::int64_t number = 0) {
  StoreMessage message{.function = function, .number = number, .keys = {key}};
  for (const std::string_view value : values) message.values.push_back(conducted::bytes_of(value));
  return message;
}

// The same request of each of `ranks`.
Requests of_all(int ranks, const StoreMessage& request) {
  return Requests(static_cast<std::size_t>(ranks), {request});
}

// Of a rank that pauses, or meets the others in a barrier.
StoreMessage pause(Duration time) { return {.function = StoreFunction::wait, .timeout = time}; }
StoreMessage barrier() { return {.function = StoreFunction::wait}; }

StoredMessage perform(const StoreMessage& request, KeyStore& store, sim::SimulatedRank& rank) {
  if (!request.keys.empty() || request.function != StoreFunction::wait)
    return store.perform(request, rank);
  if (request.timeout)
    rank.runtime().sleep_for(*request.timeout);
  else
    rank.root()->barrier();
  return {};
}

// What the ranks of a run are told.
class Answers {
 public:
  explicit Answers(std::size_t ranks) : by_rank_(ranks) {}

  void add(int rank, const StoredMessage& answer) {
    std::string& text = by_rank_[static_cast<std::size_t>(rank)];
    text += answer.status == Status::timeout ? "late" : fmt::format("{}", answer.number);
    for (const auto& value : answer.values) text += ' ' + conducted::text_of(value);
    text += ';';
  }
  std::string text(const sim::Report& report) const {
    return fmt::format("{} {}", to_string(report.outcome), fmt::join(by_rank_, "|"));
  }

 private:
  std::vector<std::string> by_rank_;
};

// One run of them on a new store, and what came of it.
sim::Report run_requests(const Requests& requests, const sim::SimulationOptions& options,
                         std::string& result) {
  KeyStore store;
  Answers answers(requests.size());
  sim::Report report = sim::Simulation(options).run([&](sim::SimulatedRank& rank) {
    for (const StoreMessage& request : requests[static_cast<std::size_t>(rank.rank())])
      answers.add(rank.rank(), perform(request, store, rank));
  });
  result = answers.text(report);
  return report;
}

struct Explored {
  sim::EverySchedule every;
  std::set<std::string> results;
};

sim::SimulationOptions options_of(const Requests& requests) {
  return {.world_size = static_cast<int>(requests.size())};
}

Explored explored(const Requests& requests) {
  Explored explored;
  std::string result;  // of the last run, which may have been cut short
  explored.every = sim::run_every_schedule(
      options_of(requests),
      [&](const sim::SimulationOptions& options) {
        return run_requests(requests, options, result);
      },
      [&](const sim::ExploredRun&) {
        explored.results.insert(result);
        return true;
      });
  return explored;
}

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
  const Requests requests = {{lock, about_key(get, "free"), lock},
                             {about_key(get, "lock"), about_key(erase, "lock"),
                              about_key(set, "free", {""}), about_key(check, "lock"),
                              about_key(set, "lock", {"broken"})}};
  std::string result;
  EXPECT_TRUE(run_requests(requests, options_of(requests), result).holds());
  EXPECT_EQ(result, "completed 1 taken;0 ;1 taken;|0 taken;1;0;1;0;");
}

// -- Against all interleavings --

StoreMessage drawn_request(sim::RandomStream& draws) {
  const std::string key(1, static_cast<char>('a' + draws.below(2)));
  const std::string value(1, static_cast<char>('x' + draws.below(2)));
  const Duration time = std::chrono::milliseconds(1 + draws.below(2));
  switch (draws.below(14)) {
    case 11:
      return pause(time);
    case 12:
      return barrier();
    case 13: {
      StoreMessage wait = about_key(draws.below(2) == 0 ? get : StoreFunction::wait, key);
      if (draws.below(3) == 0) wait.keys = {"a", "b"}, wait.function = StoreFunction::wait;
      wait.timeout = time;
      return wait;
    }
    case 9:
      return about_key(erase, key);
    case 10: {
      StoreMessage both = about_key(StoreFunction::wait, "a");
      both.keys.emplace_back("b");
      return both;
    }
    case 6:
      return about_key(check, key);
    case 7:
      return {.function = count};
    case 8: {
      StoreMessage wait = about_key(StoreFunction::wait, key);
      wait.timeout = Duration::zero();
      return wait;
    }
    case 0:
      return about_key(get, key);
    case 1:
      return about_key(StoreFunction::wait, key);
    case 2:
      return about_key(add, "n", {}, static_cast<std::int64_t>(draws.below(3)));
    case 3:
      return about_key(append, key, {value});
    case 4:
      return about_key(compare_set, key, {draws.below(2) == 0 ? "" : "x", value});
    default:
      return about_key(set, key, {value});
  }
}

Requests drawn_requests(std::uint64_t seed) {
  sim::RandomStream draws(seed, "requests");
  Requests requests(2 + draws.below(2));
  const std::size_t most = requests.size() == 2 ? 4 : getenv("CASES") ? 3 : 2;
  for (auto& of_rank : requests)
    for (std::size_t left = 1 + draws.below(most); left > 0; --left)
      of_rank.push_back(drawn_request(draws));
  return requests;
}

TEST(KeyStoreSchedules, AreThoseOfAllInterleavings) {
  const std::uint64_t cases = getenv("CASES") ? (unsigned)atoi(getenv("CASES")) : 300;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const Requests requests = drawn_requests(seed);
    const Explored all = explored(requests);
    if (all.every.end == End::unguided) continue;  // a loop of two
    std::set<std::string> results;
    std::vector<sim::StepLog> logs;
    sim::Knowledge known;
    std::string result;
    const auto guide = std::make_shared<sim::Guide>();
    sim::SimulationOptions options = options_of(requests);
    options.scheduler = sim::SchedulerKind::guided;
    options.guide = guide;
    const sim::Knowledge none;
    sim::Interleavings interleavings;
    do {
      guide->begin(sim::Beginning(interleavings.beginning()), none);
      run_requests(requests, options, result);
      results.insert(result);
      logs.push_back(guide->log());
      merge(known, guide->log().knowledge);
    } while (interleavings.next(guide->log()));
    EXPECT_EQ(all.results, results) << "seed " << seed;
    std::set<std::uint64_t> classes;
    for (const sim::StepLog& log : logs) classes.insert(sim::class_of(log, known));
    EXPECT_EQ(all.every.classes, classes.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gang::harness
