// What explorations of a store's use find, against all interleavings of random requests.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/schedule/guide.h"
#include "sim/schedule/interleavings.h"
#include "sim/schedule/random_stream.h"
#include "sim/schedule/step_class.h"
#include "tests/harness/conductor/store_requests.h"

namespace gang::harness {
namespace {

using namespace requested;  // NOLINT(google-build-using-namespace)
using enum StoreFunction;

StoreMessage awaiting(std::vector<std::string> keys, std::optional<Duration> timeout = {}) {
  return {.function = StoreFunction::wait, .keys = std::move(keys), .timeout = timeout};
}

StoreMessage drawn_wait(sim::RandomStream& draws, const std::string& key) {
  const Duration time = std::chrono::milliseconds(1 + draws.below(2));
  switch (draws.below(7)) {
    case 0:
      return about_key(get, key);
    case 1:
      return awaiting({key});
    case 2:
      return awaiting({"a", "b"});
    case 3:
      return awaiting({key}, Duration::zero());
    case 4:
      return awaiting({"a", "b"}, time);
    case 5:
      return pause(time);
    default:
      return awaiting({key}, time);
  }
}

StoreMessage drawn_request(sim::RandomStream& draws) {
  const std::string key(1, static_cast<char>('a' + draws.below(2)));
  const std::string value(1, static_cast<char>('x' + draws.below(2)));
  switch (draws.below(14)) {
    case 0:
      return about_key(add, "n", {}, static_cast<std::int64_t>(draws.below(3)));
    case 1:
      return about_key(append, key, {value});
    case 2:
      return about_key(compare_set, key, {draws.below(2) == 0 ? "" : "x", value});
    case 3:
      return about_key(check, key);
    case 4:
      return {.function = count};
    case 5:
      return about_key(erase, key);
    case 6:
      return barrier();
    case 7:
    case 8:
    case 9:
      return about_key(set, key, {value});
    default:
      return drawn_wait(draws, key);
  }
}

Requests drawn_requests(std::uint64_t seed) {
  sim::RandomStream draws(seed, "requests");
  Requests requests(2 + draws.below(2));
  const std::size_t most = requests.size() == 2 ? 4 : 2;
  for (auto& of_rank : requests)
    for (std::size_t left = 1 + draws.below(most); left > 0; --left)
      of_rank.push_back(drawn_request(draws));
  return requests;
}

TEST(KeyStoreInterleavings, HaveTheResultsAndClassesOfTheirExploration) {
  constexpr std::uint64_t cases = 300;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    const Requests requests = drawn_requests(seed);
    const Explored all = explored(requests);
    if (all.every.end == sim::EverySchedule::End::unguided) continue;  // a loop of two
    ++compared;
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
  EXPECT_GT(compared, cases / 2);
}

}  // namespace
}  // namespace gang::harness
