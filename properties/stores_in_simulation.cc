#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/rank_check.h"
#include "properties/stores_behave.h"

namespace gang::properties {
namespace {

using std::chrono::milliseconds;

// One map for all ranks of a run, made by the first that asks. Nobody keeps it beyond the run.
class SharedStore {
 public:
  SharedStore(const MakeStore& make, int world_size) : make_(make), left_(world_size) {}

  std::shared_ptr<Store> client(Runtime& runtime) {
    if (store_ == nullptr) store_ = make_(runtime);
    std::shared_ptr<Store> mine = store_->new_client();
    if (--left_ == 0) store_.reset();
    return mine;
  }

 private:
  const MakeStore& make_;
  std::shared_ptr<Store> store_;
  int left_;
};

std::int64_t sum_of(const AddingCase& one) {
  std::int64_t sum = 0;
  for (const std::vector<int>& deltas : one.deltas)
    sum += std::accumulate(deltas.begin(), deltas.end(), std::int64_t{0});
  return sum;
}

// Adds, and meets the others where the sum is whole: who sees it sets the key that all wait for.
std::string add_and_meet(const AddingCase& one, Store& store, int rank,
                         std::map<std::int64_t, int>& delta_at) {
  const std::int64_t whole = sum_of(one);
  std::int64_t last = 0;
  for (const int delta : one.deltas[static_cast<std::size_t>(rank)]) {
    const std::int64_t sum = store.add("sum", delta);
    if (sum <= last) return fmt::format("is told {} after {}", sum, last);
    if (!delta_at.emplace(sum, delta).second) return fmt::format("is the second to reach {}", sum);
    if (sum == whole) store.set_text("whole", "");
    last = sum;
  }
  store.get("whole", no_timeout);
  if (store.add("sum", 0) != whole) return "is told that the sum is whole, and it is not";
  std::int64_t sum = 0;
  for (const auto& [reached, delta] : delta_at) {
    sum += delta;
    if (sum != reached) return fmt::format("sees no order of the adds that gives {}", reached);
  }
  return {};
}

Verdict judge_adding(const AddingCase& one, const MakeStore& make, const Subject& subject) {
  sim::SimulationOptions options;
  options.world_size = static_cast<int>(one.deltas.size());
  options.scheduler = sim::SchedulerKind::random;
  options.seed = one.seed;
  SharedStore shared(make, options.world_size);
  std::map<std::int64_t, int> delta_at;
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) {
    const std::shared_ptr<Store> store = shared.client(rank.runtime());
    return add_and_meet(one, *store, rank.rank(), delta_at);
  });
}

// Rank 0: sets each key at its time.
std::string set_keys(const WaitingCase& one, Store& store, Runtime& runtime) {
  std::multimap<int, std::size_t> keys_at;
  for (std::size_t key = 0; key < one.set_at_ms.size(); ++key)
    if (one.set_at_ms[key] >= 0) keys_at.emplace(one.set_at_ms[key], key);
  for (const auto& [time_ms, key] : keys_at) {
    if (milliseconds(time_ms) > runtime.now())
      runtime.sleep_for(milliseconds(time_ms) - runtime.now());
    store.set_text(std::to_string(key), "at " + std::to_string(time_ms));
  }
  return {};
}

std::string wait_for_key(const WaitingCase& one, const WaitingCase::Waiter& waiter, Store& store,
                         Runtime& runtime) {
  if (waiter.comes_at_ms > 0) runtime.sleep_for(milliseconds(waiter.comes_at_ms));
  const TimePoint came = milliseconds(waiter.comes_at_ms);
  const TimePoint deadline = came + milliseconds(waiter.timeout_ms);
  const int set_at = one.set_at_ms[static_cast<std::size_t>(waiter.key)];
  const TimePoint set = milliseconds(set_at);
  try {
    const std::string value = store.get_text(std::to_string(waiter.key), deadline - came);
    if (set_at < 0 || set > deadline) return "gets a key that nobody has set";
    if (value != "at " + std::to_string(set_at)) return "gets '" + value + "'";
    if (runtime.now() != std::max(came, set))
      return fmt::format("gets a key at {} that was set at {}", to_string(runtime.now()),
                         to_string(set));
  } catch (const StoreError& error) {
    if (error.kind() != StoreErrorKind::timeout) return error.what();
    if (runtime.now() != deadline)
      return fmt::format("gives up at {}, expected {}", to_string(runtime.now()),
                         to_string(deadline));
    if (set_at >= 0 && set < deadline) return "gives up though the key was set";
  }
  return {};
}

Verdict judge_waiting(const WaitingCase& one, const MakeStore& make, const Subject& subject) {
  sim::SimulationOptions options;
  options.world_size = 1 + static_cast<int>(one.waiters.size());
  options.scheduler = sim::SchedulerKind::random;
  options.seed = one.seed;
  options.pending_timeouts = sim::PendingTimeouts::fire;
  SharedStore shared(make, options.world_size);
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) {
    const std::shared_ptr<Store> store = shared.client(rank.runtime());
    if (rank.rank() == 0) return set_keys(one, *store, rank.runtime());
    return wait_for_key(one, one.waiters[static_cast<std::size_t>(rank.rank() - 1)], *store,
                        rank.runtime());
  });
}

WaitingCase generate_waiting(Draw& draw) {
  WaitingCase one;
  one.set_at_ms.resize(static_cast<std::size_t>(draw.between(1, 4)));
  for (int& time : one.set_at_ms) time = draw.one_in(4) ? -1 : draw.between(0, 20);
  one.waiters.resize(static_cast<std::size_t>(draw.world()));
  for (WaitingCase::Waiter& waiter : one.waiters) {
    waiter.key = draw.between(0, static_cast<int>(one.set_at_ms.size()) - 1);
    waiter.comes_at_ms = draw.between(0, 20);
    waiter.timeout_ms = draw.between(1, 20);
  }
  one.seed = draw.random.below(1000);
  return one;
}

}  // namespace

Property simulated_clients_see_one_order(const MakeStore& make, const Subject& subject) {
  Law<AddingCase> law;
  law.suite = "stores_behave";
  law.name = "simulated_clients_see_one_order";
  law.description = "Ranks of one map see one order of its changes, in every schedule.";
  law.cost = 4;
  law.generate = [](Draw& draw) {
    AddingCase one;
    one.deltas.resize(static_cast<std::size_t>(draw.world()));
    for (std::vector<int>& deltas : one.deltas)
      for (int i = draw.between(1, 4); i > 0; --i) deltas.push_back(draw.between(1, 3));
    one.seed = draw.random.below(1000);
    return one;
  };
  law.verdict = [make, subject](const AddingCase& one) { return judge_adding(one, make, subject); };
  return to_property(law);
}

Property simulated_waits_end_on_time(const MakeStore& make, const Subject& subject) {
  Law<WaitingCase> law;
  law.suite = "stores_behave";
  law.name = "simulated_waits_end_on_time";
  law.description = "A wait ends when its key is set, or else at its timeout, in virtual time.";
  law.cost = 4;
  law.generate = generate_waiting;
  law.verdict = [make, subject](const WaitingCase& one) {
    return judge_waiting(one, make, subject);
  };
  return to_property(law);
}

std::string to_text(const WaitingCase& one) {
  std::string text = fmt::format("{} waiters, keys set at [{}] ms, seed {}", one.waiters.size(),
                                 fmt::join(one.set_at_ms, ","), one.seed);
  for (const WaitingCase::Waiter& waiter : one.waiters)
    text += fmt::format("\n  waits for {} from {} ms on for {} ms", waiter.key, waiter.comes_at_ms,
                        waiter.timeout_ms);
  return text;
}

std::vector<WaitingCase> shrinks(const WaitingCase& one) {
  std::vector<WaitingCase> simpler;
  for (std::size_t i = 0; i < one.waiters.size() && one.waiters.size() > 1; ++i) {
    simpler.push_back(one);
    simpler.back().waiters.erase(simpler.back().waiters.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = 0; i < one.waiters.size(); ++i) {
    WaitingCase::Waiter simple = one.waiters[i];
    for (int* time : {&simple.comes_at_ms, &simple.timeout_ms}) {
      const int least = time == &simple.timeout_ms ? 1 : 0;
      if (*time == least) continue;
      *time = least;
      simpler.push_back(one);
      simpler.back().waiters[i] = simple;
      simple = one.waiters[i];
    }
  }
  for (std::size_t i = 0; i < one.set_at_ms.size(); ++i) {
    if (one.set_at_ms[i] < 0) continue;
    simpler.push_back(one);
    --simpler.back().set_at_ms[i];
  }
  return simpler;
}

}  // namespace gang::properties
