// Programs that use a store, and what comes of them.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/conductor/key_store.h"
#include "sim/further_runs/every_schedule.h"
#include "tests/harness/conductor/bytes.h"

namespace gang::harness::requested {

// What each rank asks of the store, in its order.
using Requests = std::vector<std::vector<StoreMessage>>;

inline StoreMessage about_key(StoreFunction function, const std::string& key,
                              std::initializer_list<std::string_view> values = {},
                              std::int64_t number = 0) {
  StoreMessage message{.function = function, .number = number, .keys = {key}};
  for (const std::string_view value : values) message.values.push_back(conducted::bytes_of(value));
  return message;
}

// The same request of each of `ranks`.
inline Requests of_all(int ranks, const StoreMessage& request) {
  return Requests(static_cast<std::size_t>(ranks), {request});
}

// Of a rank that pauses, or meets the others in a barrier.
inline StoreMessage pause(Duration time) {
  return {.function = StoreFunction::wait, .timeout = time};
}
inline StoreMessage barrier() { return {.function = StoreFunction::wait}; }

inline StoredMessage perform(const StoreMessage& request, KeyStore& store,
                             sim::SimulatedRank& rank) {
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
inline sim::Report run_requests(const Requests& requests, const sim::SimulationOptions& options,
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

inline sim::SimulationOptions options_of(const Requests& requests) {
  return {.world_size = static_cast<int>(requests.size())};
}

inline Explored explored(const Requests& requests) {
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

}  // namespace gang::harness::requested
