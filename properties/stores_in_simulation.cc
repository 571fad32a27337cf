#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/case_text.h"
#include "properties/rank_check.h"
#include "properties/simpler_cases.h"
#include "properties/stores_behave.h"

namespace gang::properties {
namespace {

using std::chrono::milliseconds;

// One map for all ranks of a run, made by the first that asks. It does not outlive the run.
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

// Adds, then waits until the sum is whole: the rank that completes it sets the key for all.
std::string add_and_meet(const AddingCase& one, Store& store, int rank,
                         std::map<std::int64_t, int>& delta_at) {
  const std::int64_t whole = sum_of(one);
  std::int64_t last = 0;
  for (const int delta : one.deltas[static_cast<std::size_t>(rank)]) {
    const std::int64_t sum = store.add("sum", delta);
    if (sum <= last) return fmt::format("gets {} after {}", sum, last);
    if (!delta_at.emplace(sum, delta).second) return fmt::format("is the second to reach {}", sum);
    if (sum == whole) store.set_text("whole", "");
    last = sum;
  }
  store.get("whole", no_timeout);
  if (store.add("sum", 0) != whole) return "is told that the sum is whole, but it is not";
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
    if (set_at < 0 || set > deadline) return "gets a key that has not been set";
    if (value != "at " + std::to_string(set_at)) return "gets '" + value + "'";
    if (runtime.now() != std::max(came, set))
      return fmt::format("gets a key at {} that was set at {}", gang::to_string(runtime.now()),
                         gang::to_string(set));
  } catch (const StoreError& error) {
    if (error.kind() != StoreErrorKind::timeout) return error.what();
    if (runtime.now() != deadline)
      return fmt::format("gives up at {}, expected {}", gang::to_string(runtime.now()),
                         gang::to_string(deadline));
    if (set_at >= 0 && set < deadline) return "gives up, although the key was set";
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
  return to_property(Law<AddingCase>{
      .suite = "stores_behave",
      .name = "simulated_clients_see_one_order",
      .description = "Ranks that share a map see one order of its changes, in every schedule.",
      .cost = 4,
      .generate = [](Draw& draw) { return generate_adding(draw, draw.world(), 4); },
      .verdict = [make,
                  subject](const AddingCase& one) { return judge_adding(one, make, subject); }});
}

Property simulated_waits_end_on_time(const MakeStore& make, const Subject& subject) {
  return to_property(Law<WaitingCase>{
      .suite = "stores_behave",
      .name = "simulated_waits_end_on_time",
      .description = "A wait ends when its key is set, or else at its timeout, in virtual time.",
      .cost = 4,
      .generate = generate_waiting,
      .verdict = [make, subject](const WaitingCase& one) {
        return judge_waiting(one, make, subject);
      }});
}

std::string to_text(const WaitingCase& one) {
  std::string text =
      fmt::format("{}, keys set at [{}] ms, seed {}", counted(one.waiters.size(), "waiter"),
                  fmt::join(one.set_at_ms, ","), one.seed);
  for (const WaitingCase::Waiter& waiter : one.waiters)
    text += fmt::format("\n  waits for key {} from {} ms on, for {} ms", waiter.key,
                        waiter.comes_at_ms, waiter.timeout_ms);
  return text;
}

std::vector<WaitingCase> shrinks(const WaitingCase& one) {
  SimplerCases simpler(one);
  simpler.drop_each(&WaitingCase::waiters, 1);
  for (std::size_t i = 0; i < one.waiters.size(); ++i) {
    simpler.add([i](WaitingCase& other) { other.waiters[i].comes_at_ms = 0; });
    simpler.add([i](WaitingCase& other) { other.waiters[i].timeout_ms = 1; });
  }
  for (std::size_t i = 0; i < one.set_at_ms.size(); ++i)
    simpler.add(
        [i](WaitingCase& other) { other.set_at_ms[i] = std::max(-1, other.set_at_ms[i] - 1); });
  return simpler.take();
}

}  // namespace gang::properties
