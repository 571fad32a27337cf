#include "harness/backends/nccl_backend.h"

#include <stdlib.h>

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "gang/nccl/gpu_machine.h"
#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/real_nccl_api.h"
#include "gang/nccl/store_meeting.h"
#include "gang/store/file_store.h"
#include "harness/backends/launcher.h"
#include "harness/backends/meeting_place.h"
#include "harness/backends/rank_process.h"

namespace gang::harness {
namespace {

using std::chrono::milliseconds;

// Counted in another process: CUDA does not survive a fork once it is used.
int count_gpus() {
  const std::vector<ProcessEnd> ends =
      run_processes(1, [](int) { return std::to_string(gpu_count()); }, std::chrono::seconds(60));
  return ends.front().has_returned() ? std::stoi(ends.front().result) : 0;
}

bool shares_gpus() {
  const char* const value = ::getenv("GANGSIM_SHARE_GPUS");
  return value != nullptr && std::string_view(value) == "1";
}

// Makes ranks that share a GPU look like nodes of their own, which communicate over loopback.
// Source: NCCL 2.28.9, misc/utils.cc (NCCL_HOSTID).
void pretend_to_be_a_node(int rank) {
  ::setenv("NCCL_HOSTID", fmt::format("gangsim-{}", rank).c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  ::setenv("NCCL_IB_DISABLE", "1", 0);
  ::setenv("NCCL_MAX_CTAS", "2", 0);
}

struct NcclProcesses {
  const Launch& launch;
  const MeetingPlace& place;
};

std::shared_ptr<Gang> join(const NcclProcesses& processes, int rank,
                           const std::shared_ptr<Runtime>& runtime) {
  const int world_size = processes.launch.options.world_size;
  const Environment environment{
      .rank = rank, .world_size = world_size, .local_rank = rank, .local_world_size = world_size};
  return make_nccl_job_gang({.environment = environment,
                             .store = make_file_store(*runtime, {.path = processes.place.store(),
                                                                 .poll_interval = milliseconds(1)}),
                             .runtime = runtime,
                             .timeout = processes.launch.options.timeout});
}

RankOutcome run_process(const NcclProcesses& processes, int rank) {
  const Launch& launch = processes.launch;
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  return run_rank({.program = launch.program,
                   .parameters = launch.context.parameters,
                   .runtime = *runtime,
                   .rank = rank,
                   .world_size = launch.options.world_size,
                   .seed = launch.context.seed,
                   .log = launch.context.log},
                  [&] { return join(processes, rank, runtime); });
}

}  // namespace

sim::Report run_on_nccl(const Launch& launch) {
  const auto began = std::chrono::steady_clock::now();
  if (const BackendAvailability nccl = nccl_availability(); !nccl.is_available)
    throw NotSupported("backend nccl is unavailable: " + nccl.reason);
  const MeetingPlace place;
  const NcclProcesses processes{launch, place};
  const int gpus = count_gpus();
  const GpuShare share{launch.options.world_size, gpus, shares_gpus()};
  if (const std::string problem = problem_of(share); !problem.empty())
    throw NotSupported("backend nccl: " + problem);
  const std::vector<RankOutcome> outcomes =
      run_rank_processes(launch, std::chrono::seconds(30),
                         [&processes](int rank) { return run_process(processes, rank); });
  record(outcomes, launch.context.recorder);
  sim::Report report = report_of(outcomes);
  report.wall_time = std::chrono::steady_clock::now() - began;
  return report;
}

std::shared_ptr<Gang> make_nccl_job_gang(const NcclJobGang& job) {
  int gpu = job.environment.local_rank;
  const int gpus = gpu_count();
  if (gpus > 0 && gpus < job.environment.local_world_size && shares_gpus()) {
    pretend_to_be_a_node(job.environment.rank);
    gpu %= gpus;
  }
  NcclGangOptions options{.rank = job.environment.rank,
                          .size = job.environment.world_size,
                          .timeout = job.timeout,
                          .key = job.key,
                          .tensors = NcclTensors::on_host};
  options.world = {.api = make_real_nccl_api(gpu, job.runtime),
                   .meeting = make_store_meeting(job.store, job.runtime),
                   .runtime = job.runtime,
                   .watchdog = NcclWatchdog::always};
  return make_nccl_gang(options);
}

}  // namespace gang::harness
