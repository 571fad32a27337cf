// Many runs of one program, each with its own schedule and faults.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "harness/run/runner.h"
#include "sim/further_runs/every_schedule.h"
#include "sim/schedule/detours.h"

namespace gang::harness {

// What the runs have covered. A value.
struct ExplorationCoverage {
  // For one kind of fault.
  struct OfKind {
    std::uint64_t planned = 0;     // faults in the runs' plans, one per victim
    std::uint64_t fired = 0;       // of those, the ones that happened
    std::set<std::string> places;  // "before all_reduce #4 on root[0-7]"
  };

  std::uint64_t runs = 0;
  std::uint64_t with_faults = 0;      // runs in which a fault happened
  std::uint64_t completed = 0;        // all surviving ranks returned
  std::uint64_t typed_errors = 0;     // the program ended with an error caused by a fault
  std::uint64_t corrupted = 0;        // data was corrupted silently, by the plan
  std::uint64_t rank_operations = 0;  // without those of comparison runs
  std::map<std::string, OfKind> kinds;

  void add(const RunResult& result);
  void add(const ExplorationCoverage& other);
};

// Which schedules an exploration runs.
enum class Strategy : std::uint8_t {
  automatic,   // exhaustive, and drawn ones where that does not come to an end
  exhaustive,  // one of each class of equivalent schedules
  random,      // each next context drawn among those that can run
  pct,         // random priorities with few changes: make_pct_sampler
  pos,         // random priorities of single steps: make_pos_sampler
};

inline constexpr auto strategy_names =
    names_in_order<Strategy>("auto", "exhaustive", "random", "pct", "pos");

// Of Strategy::pct: the number of steps whose order a bug needs.
inline constexpr int least_depth = 1;
inline constexpr int most_depth = 9;

// In place of a number of runs: as many as the budget allows.
inline constexpr std::uint64_t any_schedules = 1'000'000'000;

struct ExplorationOptions {
  std::uint64_t schedules = 1000;  // runs, at least 1: the specification's seed and those after it
  int jobs = 1;                    // threads, at least 1
  Strategy strategy = Strategy::automatic;
  int depth = 3;                        // of Strategy::pct
  std::optional<Duration> budget = {};  // no further run begins after it
};

// "auto", "pct:3": sets the strategy, and the depth where there is one. Throws InvalidArgument.
void set_strategy(ExplorationOptions& options, std::string_view text);

// What an exploration has shown.
enum class Claim : std::uint8_t {
  proved,   // under every schedule the program holds
  found,    // it does not
  sampled,  // in the runs that were made, it does
};

inline constexpr auto claim_names = names_in_order<Claim>("proved", "found", "sampled");

// How many different schedules drawn ones have come upon.
struct Sample {
  Strategy strategy = Strategy::random;  // or pct, pos
  int depth = 0;                         // of pct
  std::uint64_t contexts = 0;            // of pct and pos: the most in a run that was learned from,
  std::uint64_t steps = 0;               // and their contested steps
  double bound = 0;                      // of pct: the least chance that a run finds a bug
  std::uint64_t longer_runs = 0;         // of pct: with more contexts or steps than that
  std::uint64_t contests = 0;            // the most contested choices in one of the first runs
  std::uint64_t runs = 0;
  std::uint64_t classes = 0;    // of equivalent schedules
  std::uint64_t seen_once = 0;  // classes with one run

  friend bool operator==(const Sample&, const Sample&) = default;

  // An estimate of the chance that another run is of a class not seen yet. Source: Good, "The
  // population frequencies of species", Biometrika 1953 (the Good-Turing estimate).
  double unseen() const noexcept {
    return runs == 0 ? 1.0 : static_cast<double>(seen_once) / static_cast<double>(runs);
  }

  // Of pct: the least chance that these runs have found a bug of that depth, if there is one.
  double promise() const noexcept {
    return 1 - std::pow(1 - bound, static_cast<double>(runs - longer_runs));
  }
};

// The result of an exploration.
struct Exploration {
  ExplorationCoverage coverage;      // of the runs that were made
  std::optional<RunResult> failure;  // the first: by seed, or in the order of exhaustive runs
  // Of a guided run: what the failure's schedule does otherwise than a run by itself.
  std::optional<std::vector<sim::Detour>> detours;
  Duration wall_time{0};
  Claim claim = Claim::sampled;
  std::optional<sim::EverySchedule> every;  // how far exhaustive runs came; none: none were made
  std::optional<Sample> sample;             // of the drawn runs; none: not known, or none made
  bool holds_with_buffered_sends = false;   // proved of rendezvous sends, and so of buffered ones
  std::uint64_t results = 0;                // different outputs of exhaustive runs that completed
  std::uint64_t fault_cases = 0;            // ways in which faults came about in exhaustive runs
};

// Runs `program` under one schedule of each class of equivalent ones, or once per seed, until a run
// fails. The failure does not depend on the number of jobs. `progress` is called now and then, from
// one thread, with the coverage so far. Throws what run throws.
using ExplorationProgress = std::function<void(const ExplorationCoverage&)>;
Exploration explore(const Program& program, const RunSpecification& specification,
                    const ExplorationOptions& options, const ExplorationProgress& progress = {});

// A smaller run that fails in the same way: fewer and simpler faults first, then a smaller world,
// then smaller parameters. `attempts` counts the runs, `steps` those that made it smaller.
struct SmallerFailure {
  RunResult result;
  std::size_t attempts = 0;
  std::size_t steps = 0;
};

// The result records what `recording` says.
SmallerFailure shrink_failure(const Program& program, const RunResult& failure,
                              const RunRecording& recording = {}, std::size_t most_attempts = 400);

// The same where the order of steps decides that it fails. Each smaller program is explored in its
// turn, all of them in about `most_runs` runs; or, if drawn runs have found the failure and few
// exhaustive ones do not, run with the same detours. `exploration` is that of the smallest one, or
// the given one.
struct SmallerExploration {
  Exploration exploration;
  std::size_t attempts = 0;
  std::size_t steps = 0;
};
SmallerExploration shrink_exploration(const Program& program, const Exploration& exploration,
                                      std::uint64_t most_runs = 2000);

// A scenario file that `gangsim run` replays, with the outcome that it had. `program` is its name,
// or the path of its file; `comment` is for people.
std::string to_scenario(const RunResult& result, const std::string& program,
                        const std::string& comment);

}  // namespace gang::harness
