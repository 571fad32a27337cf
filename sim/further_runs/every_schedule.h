// Runs a program under every schedule that could end otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/further_runs/settled_run.h"
#include "sim/schedule/continuations.h"
#include "sim/schedule/reduction.h"

namespace gang::sim {

// How far such an exploration has come.
struct EverySchedule {
  enum class End : std::uint8_t {
    all_seen,   // every schedule is like one of the runs
    stopped,    // by the caller
    unguided,   // something could come otherwise that no Guide is told of
    diverged,   // a run did not repeat what the one before did: the program is nondeterministic
    too_large,  // too many steps of too many contexts
  };
  End end = End::all_seen;
  std::optional<Unguided> unguided;  // End::unguided: what that is
  std::uint64_t classes = 0;         // runs to the end, no two of them alike
  std::uint64_t cut = 0;             // runs that were cut short, as all that could follow was seen
  std::uint64_t contests = 0;        // the most in one run
  std::uint64_t restarts = 0;        // how often the search began anew; the figures are of the last
  std::optional<Contest> decisive;   // what the last run decided otherwise than an earlier one
  // Whether the run that decides it in the other way holds; shown where the last run was stopped.
  std::optional<bool> holds_otherwise;
  // That run beside the last one, from where they part: each ends with its first finding, or with
  // how it ended. None: they are too long.
  std::optional<Continuations> continuations;
  // End::diverged: the step where a run did not repeat another one, if that is known.
  std::optional<std::uint64_t> diverged_at;
};

// Of worlds of more ranks than these, and of faults on other backends than sim, one run is made,
// which is all there is if nothing in it could have come otherwise. A step of a run with a guide
// costs O(ranks).
inline constexpr int most_explored_ranks = 512;

// One of its runs.
struct ExploredRun {
  const Report& report;
  const Guide* guide;  // whose options the run had; null where one run is made
  // What it decided otherwise than an earlier run; none: it is the first one.
  const std::optional<Contest>& decisive;
};

// Runs `again` once for each class of equivalent schedules, with `options` and a guide. `ran` looks
// at each run and returns whether to go on. Not under ContextKind::parallel.
//
// `jobs` threads call `again`, each with guides of its own; one thread calls `ran`, and in the same
// order whatever the number of threads.
//
// `holds` tells which of the runs that decide one choice otherwise hold.
using ScheduleRan = std::function<bool(const ExploredRun&)>;
using RunHolds = std::function<bool(const ExploredRun&)>;
bool completed_without_findings(const ExploredRun& run) noexcept;
EverySchedule run_every_schedule(const SimulationOptions& options, const RunAgain& again,
                                 const ScheduleRan& ran, int jobs = 1,
                                 const RunHolds& holds = completed_without_findings);

// "deadlock": its first finding; where there is none, how the run ended.
std::string end_of(const Report& report);

// -- One run of them --

// Whether a Guide is told what the contexts of a run with `options` do to each other.
bool can_be_guided(const SimulationOptions& options) noexcept;

// `options` for a further run that a guide of its own leads.
SimulationOptions guided_run(const SimulationOptions& options);

// What could have come otherwise in a run that the guide was not told of; none: there is nothing.
std::optional<Unguided> unguided_in(const Report& report, const Guide& guide);

}  // namespace gang::sim
