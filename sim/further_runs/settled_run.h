// A run, and the further runs that settle its verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/simulation.h"

namespace gang::sim {

// Runs `program`, then again as often as its verdict leaves something open that another run decides
// (dozens of times at most): whether a deadlock needs rendezvous sends or streams, whether findings
// need the faults, whether it matters which message a receive from any source takes. Programs that
// leave results outside do so once for each run; the report is of the first one.
Report run_settled(const SimulationOptions& options, const RankProgram& program);

// Runs the program of the first run once more, with other options.
using RunAgain = std::function<Report(const SimulationOptions&)>;

// Its parts, for those who run programs in another way. Each makes the runs that it needs, none
// where nothing is open, and completes `report`, of a run with `options`.
//
// A deadlock is settled by one run where that fails or makes no choice, and by up to 16 classes of
// schedules of a small one that holds: the first that fails decides; if fewer are all that there
// are, and hold, the program completes without the condition in every schedule.
void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again);

// Its first further run is the one without faults.
void settle_faults(const SimulationOptions& options, Report& report, const RunAgain& again);

// Names the ranks that left what most ranks do; where faults have happened, settle_faults does
// that. Makes no run where `report` has the timeline.
void settle_culprits(const SimulationOptions& options, Report& report, const RunAgain& again);

// Which neighbours of a run are made: runs that decide one of its choices otherwise.
enum class Neighbours : std::uint8_t {
  none,
  of_messages,  // of a run that holds: those that receive another message from any source
  all,
};

// What they tell of it.
struct Surroundings {
  // Choices that decide something; none: not known, as no neighbour was made or not all are known.
  std::optional<std::uint64_t> contests = {};
  // Some of them, in words (contest_text.h): "whether rank 0 locked a mutex before rank 1 did".
  std::vector<std::string> choices = {};
  // Of a run that fails: the choice without which it holds, in words, if it has been found. "rank 0
  // locked a mutex before rank 1 did".
  std::string decisive = {};
};

// Looks at a few neighbours of a run, if something in it could have come otherwise and it is small:
// up to 20,000 operations of ranks, 4 million of these times its ranks, and most_explored_ranks.
// Adds the finding message_race to a run that holds while a neighbour that receives another message
// does not, or comes to other outputs. `outputs` tells the digest of those of the last run that
// `again` has made; null: outputs are not compared.
Surroundings look_around(const SimulationOptions& options, Report& report, const RunAgain& again,
                         Neighbours neighbours = Neighbours::of_messages,
                         const std::function<std::uint64_t()>& outputs = {});

// -- Which runs settle it --

// The options of a further run, before they are adapted to its purpose: it records nothing and does
// not follow a replayed schedule, which belongs to the first run.
SimulationOptions another_run(const SimulationOptions& options);

// A limit of steps for a further run, in case the program does not end where it goes another way.
std::uint64_t further_step_limit(const SimulationOptions& options, const Report& report) noexcept;

// The options of the run that settles what `report`, of a run with `options`, leaves open: whether
// its deadlock happens only because sends wait to be received, or because operations wait behind
// others of their stream. None if neither is open: there is no deadlock, it happens in any case, or
// the run had faults. If both are open, sends are settled first.
std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report);

// Updates `report` with the result of the run with settling_options. If that run holds, a deadlock
// other than a cycle of messages or of streams becomes a buffering_hazard.
void settle(Report& report, const Report& settling);

// The options of the run that shows whether faults are the cause of what was found.
SimulationOptions without_faults(const SimulationOptions& options);

// Updates `report` with the result of the run without faults: every finding says whether it needs
// them.
void settle_faults(Report& report, const Report& clean);

}  // namespace gang::sim
