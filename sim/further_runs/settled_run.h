// A run, and the further runs that settle its verdict.
#pragma once

#include "sim/further_runs/further_run.h"
#include "sim/simulation.h"

namespace gang::sim {

// Runs `program`, then again as often as its verdict leaves something open that another run decides
// (at most a few times): whether a deadlock needs rendezvous sends or streams, whether findings
// need the faults, whether it matters which message a receive from any source takes. Programs that
// leave results outside do so once for each run; the report is of the first one.
Report run_settled(const SimulationOptions& options, const RankProgram& program);

// Its parts, for those who run programs in another way. Each makes the runs that it needs, none
// where nothing is open, and completes `report`, of a run with `options`.
void settle_deadlock(const SimulationOptions& options, Report& report, const RunAgain& again);
void settle_faults(const SimulationOptions& options, Report& report, const RunAgain& again);

// Of a run that holds: adds the first receive from any source for which the other message makes a
// difference. `outputs_differ`, asked after each further run: whether its outputs are other ones.
void find_message_race(const SimulationOptions& options, Report& report, const RunAgain& again,
                       const std::function<bool()>& outputs_differ = {});

}  // namespace gang::sim
