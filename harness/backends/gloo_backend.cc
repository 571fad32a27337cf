#include "harness/backends/gloo_backend.h"

#include <chrono>
#include <utility>

#include "gang/gloo/gloo_gang.h"
#include "gang/store/file_store.h"
#include "gang/validating_gang.h"
#include "harness/backends/meeting_place.h"
#include "harness/backends/rank_process.h"

namespace gang::harness {
namespace {

// What the processes of a launch share.
struct GlooProcesses {
  const Launch& launch;
  const GlooProcessOptions& options;
  const MeetingPlace& place;
};

std::shared_ptr<Gang> join(const GlooProcesses& processes, int rank,
                           const std::shared_ptr<Runtime>& runtime, FaultTally& tally) {
  const sim::SimulationOptions& world = processes.launch.options;
  const std::shared_ptr<Store> store =
      make_faulted_store(*runtime,
                         make_file_store(*runtime, {.path = processes.place.store(),
                                                    .poll_interval = std::chrono::milliseconds(1)}),
                         rank, processes.options.faults, world.timeout);
  std::shared_ptr<Gang> gang = make_gloo_gang({.connector = make_loopback_connector(store, runtime),
                                               .runtime = runtime,
                                               .rank = rank,
                                               .size = world.world_size,
                                               .timeout = world.timeout});
  if (processes.options.validation == CallValidation::on)
    gang = make_validating_gang(std::move(gang), {.runtime = runtime});
  return make_faulted_gang(std::move(gang), rank, processes.options.faults, tally);
}

RankOutcome run_process(const GlooProcesses& processes, int rank, int incarnation) {
  const Launch& launch = processes.launch;
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  FaultTally tally;
  RankOutcome outcome = run_rank({.program = launch.program,
                                  .parameters = launch.context.parameters,
                                  .runtime = *runtime,
                                  .rank = rank,
                                  .world_size = launch.options.world_size,
                                  .seed = launch.context.seed,
                                  .log = launch.context.log,
                                  .incarnation = incarnation},
                                 [&] { return join(processes, rank, runtime, tally); });
  outcome.operations = tally.operations;
  outcome.struck = tally.struck;
  return outcome;
}

// The same, in another process that may be killed if it is to be started again.
RankOutcome run_restarting_process(const GlooProcesses& processes, int rank) {
  const auto pause = pause_of_restart(processes.options.faults, rank);
  if (!pause) return run_process(processes, rank, 0);
  return run_incarnations({.pause = pause}, [&processes, rank](int incarnation) {
    return run_process(processes, rank, incarnation);
  });
}

}  // namespace

std::vector<RankOutcome> run_gloo_processes(const Launch& launch,
                                            const GlooProcessOptions& options) {
  const MeetingPlace place;
  const GlooProcesses processes{launch, options, place};
  return run_rank_processes(launch, std::chrono::seconds(10), [&processes](int rank) {
    return run_restarting_process(processes, rank);
  });
}

sim::Report run_on_gloo(const Launch& launch) {
  const auto began = std::chrono::steady_clock::now();
  const std::vector<RankOutcome> outcomes = run_gloo_processes(launch, {});
  record(outcomes, launch.context.recorder);
  sim::Report report = report_of(outcomes);
  report.wall_time = std::chrono::steady_clock::now() - began;
  return report;
}

}  // namespace gang::harness
