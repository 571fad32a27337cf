#include "sim/further_runs/further_run.h"

namespace gang::sim {

SimulationOptions another_run(const SimulationOptions& options) {
  SimulationOptions other = options;
  if (other.scheduler == SchedulerKind::replay) other.scheduler = SchedulerKind::round_robin;
  other.replay.reset();
  other.trace = Recording::off;
  other.schedule = Recording::off;
  other.timeline = Recording::off;
  other.call_stacks = Recording::off;
  return other;
}

}  // namespace gang::sim
