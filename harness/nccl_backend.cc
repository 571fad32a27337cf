#include "harness/nccl_backend.h"

#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/real_nccl_api.h"
#include "gang/nccl/store_meeting.h"
#include "gang/store/file_store.h"
#include "harness/launcher.h"
#include "harness/rank_outcome.h"

namespace gang::harness {
namespace {

using std::chrono::milliseconds;

// A new folder that goes with this object, and with nothing but it: not with a copy of the process.
class MeetingPlace {
 public:
  MeetingPlace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gangsim-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~MeetingPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  std::filesystem::path store() const { return path_ / "store"; }

 private:
  std::filesystem::path path_;
};

// Asked in another process: CUDA, once used, does not survive a fork.
int count_gpus() {
  const std::vector<ProcessEnd> ends =
      run_processes(1, [](int) { return std::to_string(gpu_count()); }, std::chrono::seconds(60));
  return ends.front().has_returned() ? std::stoi(ends.front().result) : 0;
}

bool shares_gpus() {
  const char* const value = ::getenv("GANGSIM_SHARE_GPUS");
  return value != nullptr && std::string_view(value) == "1";
}

// Ranks on one GPU are told to be nodes of their own, which reach each other over loopback.
// Source: NCCL 2.28.9, misc/utils.cc (NCCL_HOSTID).
void pretend_to_be_a_node(int rank) {
  ::setenv("NCCL_HOSTID", fmt::format("gangsim-{}", rank).c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  ::setenv("NCCL_IB_DISABLE", "1", 0);
  ::setenv("NCCL_MAX_CTAS", "2", 0);
}

struct Processes {
  const Launch& launch;
  const MeetingPlace& place;
};

std::shared_ptr<Gang> join(const Processes& processes, int rank,
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

// The program on one rank, in its own process.
RankOutcome run_rank(const Processes& processes, int rank) {
  const Launch& launch = processes.launch;
  RankOutcome outcome;
  OutputRecorder recorder(launch.options.world_size, KeepOutputs::data);
  const RunContext context{.parameters = launch.context.parameters,
                           .recorder = recorder,
                           .seed = launch.context.seed,
                           .log = launch.context.log};
  try {
    const std::shared_ptr<Runtime> runtime = make_real_runtime();
    const std::shared_ptr<Gang> root = join(processes, rank, runtime);
    Rank self{
        {.rank = rank, .world_size = launch.options.world_size, .root = root, .runtime = *runtime},
        context};
    launch.program.run(self);
    root->close();
  } catch (const std::exception& error) {
    outcome.failure = failure_of(error);
  }
  WrongResults wrong = recorder.wrong_results();
  if (!wrong.ranks.empty()) outcome.wrong_result = std::move(wrong.first_message);
  outcome.outputs = std::move(recorder.take_outputs().by_rank[static_cast<std::size_t>(rank)]);
  if (auto notes = recorder.take_notes(); !notes.empty())
    outcome.note = std::move(notes[static_cast<std::size_t>(rank)]);
  return outcome;
}

RankOutcome outcome_of(const ProcessEnd& end) {
  if (end.has_returned()) return rank_outcome_from_bytes(end.result);
  return {.failure = RankOutcome::Failure{.text = "its process " + end.death}};
}

}  // namespace

sim::Report run_on_nccl(const Launch& launch) {
  const auto began = std::chrono::steady_clock::now();
  if (const BackendAvailability nccl = nccl_availability(); !nccl.is_available)
    throw NotSupported("backend nccl is unavailable: " + nccl.reason);
  const MeetingPlace place;
  const Processes processes{launch, place};
  const int gpus = count_gpus();
  if (gpus == 0) throw NotSupported("backend nccl: CUDA finds no GPU that it can use here");
  if (gpus < launch.options.world_size && !shares_gpus())
    throw NotSupported(
        fmt::format("backend nccl: {} ranks need a GPU each, and there are {}; accepted are fewer "
                    "ranks, or GANGSIM_SHARE_GPUS=1 to let several use one over loopback sockets",
                    launch.options.world_size, gpus));
  const Duration slack = std::chrono::seconds(30);
  const Duration grace =
      launch.options.timeout < no_timeout - slack ? launch.options.timeout + slack : no_timeout;
  std::vector<RankOutcome> outcomes;
  for (const ProcessEnd& end : run_processes(
           launch.options.world_size,
           [&processes](int rank) { return to_bytes(run_rank(processes, rank)); }, grace))
    outcomes.push_back(outcome_of(end));
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
  return make_nccl_gang({.world = {.api = make_real_nccl_api(gpu, job.runtime),
                                   .meeting = make_store_meeting(job.store, job.runtime),
                                   .runtime = job.runtime,
                                   .watchdog = NcclWatchdog::always},
                         .rank = job.environment.rank,
                         .size = job.environment.world_size,
                         .timeout = job.timeout,
                         .key = job.key,
                         .tensors = NcclTensors::on_host});
}

}  // namespace gang::harness
