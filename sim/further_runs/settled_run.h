// A run, and the further runs that settle its verdict.
#pragma once

#include <functional>
#include <optional>

#include "sim/simulation.h"

namespace gang::sim {

// Runs `program`, then again as often as its verdict leaves something open that another run decides
// (at most a few times): whether a deadlock needs rendezvous sends or streams, whether findings
// need the faults, whether it matters which message a receive from any source takes. Programs that
// leave results outside do so once for each run; the report is of the first one.
Report run_settled(const SimulationOptions& options, const RankProgram& program);

// Runs the program of the first run once more, with other options.
using RunAgain = std::function<Report(const SimulationOptions&)>;

// Its parts, for those who run programs in another way. Each makes the runs that it needs, none
// where nothing is open, and completes `report`, of a run with `options`.
void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again);

// Its first further run is the one without faults.
void settle_faults(const SimulationOptions& options, Report& report, const RunAgain& again);

// Names the ranks that left what most ranks do; where faults have happened, settle_faults does
// that. Makes no run where `report` has the timeline.
void settle_culprits(const SimulationOptions& options, Report& report, const RunAgain& again);

// Of a run that holds: adds the first receive from any source for which the other message makes a
// difference. `outputs_differ` is called after each further run: whether its outputs differ.
void find_message_race(const SimulationOptions& options, Report& report, const RunAgain& again,
                       const std::function<bool()>& outputs_differ = {});

// -- Which runs settle it --

// The options of a further run, before they are adapted to its purpose: it records nothing and does
// not follow a replayed schedule, which belongs to the first run.
SimulationOptions another_run(const SimulationOptions& options);

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

// The options of the run in which the receive of `candidate` takes the other message.
SimulationOptions forcing_options(const SimulationOptions& options, const RaceCandidate& candidate);

// The finding message_race if the receive took the other message in the run `forced`, with
// forcing_options, and that made a difference: the run does not hold, or `outputs_differ`. None if
// the other message cannot come first or makes no difference.
std::optional<Finding> message_race(const RaceCandidate& candidate, const Report& forced,
                                    bool outputs_differ);

}  // namespace gang::sim
