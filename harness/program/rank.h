// What a program gets: one rank of a world, on any backend.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "gang/call_site.h"
#include "gang/gang.h"
#include "gang/runtime.h"
#include "harness/program/output.h"
#include "harness/program/parameter.h"
#include "harness/program/rank_log.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {
class SimulatedRank;
}

namespace gang::harness {

// What the ranks of one process share during a run; outlives them.
struct RunContext {
  const ParameterValues& parameters;
  OutputRecorder& recorder;
  std::uint64_t seed = 1;
  const RankLog* log = nullptr;  // null: nothing is logged
};

// What a rank that is not simulated is made from; all of it outlives the rank.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  const std::shared_ptr<Gang>& root;
  Runtime& runtime;
  int incarnation = 0;
};

// One rank of a run, as its program sees it. Small: a few words that point at what is shared.
//
// Lifetime: valid while the program of this rank runs. Threads: used from one thread of the rank at
// a time, except as noted.
class Rank {
 public:
  Rank(sim::SimulatedRank& simulated, const RunContext& context) noexcept;
  Rank(const RankPlace& place, const RunContext& context) noexcept;
  // `rank`, which outlives this one, with another gang as its root: a decorated one.
  Rank(const Rank& rank, const std::shared_ptr<Gang>& root) noexcept;
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int rank() const noexcept { return rank_; }
  int world_size() const noexcept { return world_size_; }

  // How many times this rank has been restarted: by a fault in simulation, by the launcher
  // elsewhere (TORCHELASTIC_RESTART_COUNT).
  int incarnation() const noexcept { return incarnation_; }

  // The run's seed.
  std::uint64_t seed() const noexcept { return context_->seed; }

  // The gang of all ranks. For a rank that was restarted: the old gang, which rejects it.
  const std::shared_ptr<Gang>& root() const noexcept { return *root_; }

  // The simulated rank, for programs about simulation itself; null elsewhere.
  sim::SimulatedRank* simulated() const noexcept { return simulated_; }

  // Threads, time and mutexes of this rank: real ones, or simulated ones under the scheduler.
  Runtime& runtime();

  // Whether a fault of the run's plan has happened yet, to any rank; false outside simulation.
  bool faults_have_fired() const noexcept;

  // A second gang of all ranks, which the program has not touched; null outside simulation.
  std::shared_ptr<Gang> second_root();

  // Ends the faults of the run's plan for this rank and its links; does nothing outside simulation.
  void stop_faults() noexcept;

  // Random numbers of this rank's own: a function of the run's seed, this rank and `name`; the same
  // on every backend.
  sim::RandomStream random_stream(std::string_view name) const noexcept;

  // The values of all parameters that the program declares.
  const ParameterValues& parameters() const noexcept { return context_->parameters; }

  // The value of a parameter that the program declares, as T: an integer or floating-point type,
  // std::string, DataType or ReduceOperation. Throws InvalidArgument for any other name.
  template <typename T>
  T parameter(std::string_view name) const {
    return parameters().get<T>(name);
  }

  // Outputs `values` under `name`, for runs to be compared on. Copied or digested before it
  // returns. Names may repeat; the order of calls is part of the result.
  void output(std::string_view name, const TensorView& values);
  template <std::ranges::contiguous_range Range>
  void output(std::string_view name, const Range& values) {
    output(name, gang::view(values));
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void output(std::string_view name, T value) {
    output(name, gang::view_of(value));
  }

  // Logs a line, in fmt's notation, if the run logs this rank (run --log-ranks); else nothing is
  // formatted. Threads: any.
  template <typename... Arguments>
  void log(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (context_->log == nullptr || !context_->log->covers(rank_)) return;
    context_->log->write(rank_, fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  // Keeps `note` beside this rank's results (RunResult::notes): neither digested nor compared. The
  // last one counts. Threads: any.
  void note(std::string note);

  // Reports that this rank's results are wrong: the run gets the finding wrong_result with this
  // sentence and the place of the call. The program continues. Threads: any.
  void wrong_result(std::string message, const CallSite& call_site = CallSite::here());

 private:
  const RunContext* context_;
  const std::shared_ptr<Gang>* root_;
  sim::SimulatedRank* simulated_ = nullptr;
  Runtime* runtime_ = nullptr;
  int rank_;
  int world_size_;
  int incarnation_ = 0;
};

}  // namespace gang::harness
