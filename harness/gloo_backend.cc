#include "harness/gloo_backend.h"

#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "gang/gloo/gloo_gang.h"
#include "gang/store/file_store.h"
#include "gang/validating_gang.h"
#include "harness/launcher.h"
#include "harness/rank_outcome.h"

namespace gang::harness {
namespace {

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

// A rank of a launch, in its own process.
struct GlooProcess {
  const Launch& launch;
  const GlooProcessOptions& options;
  const MeetingPlace& place;
  int rank = 0;
  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::atomic<std::uint64_t> operations = 0;

  std::shared_ptr<Gang> join();
  RankOutcome run();
};

std::shared_ptr<Gang> GlooProcess::join() {
  const std::shared_ptr<Store> store = make_file_store(
      *runtime, {.path = place.store(), .poll_interval = std::chrono::milliseconds(1)});
  std::shared_ptr<Gang> gang = make_gloo_gang({.connector = make_loopback_connector(store, runtime),
                                               .runtime = runtime,
                                               .rank = rank,
                                               .size = launch.options.world_size,
                                               .timeout = launch.options.timeout});
  if (options.validation == CallValidation::on)
    gang = make_validating_gang(std::move(gang), {.runtime = runtime});
  return make_faulted_gang(std::move(gang), rank, options.faults, operations);
}

RankOutcome GlooProcess::run() {
  RankOutcome outcome;
  OutputRecorder recorder(launch.options.world_size, KeepOutputs::data);
  const RunContext context{.parameters = launch.context.parameters,
                           .recorder = recorder,
                           .seed = launch.context.seed,
                           .log = launch.context.log};
  try {
    const std::shared_ptr<Gang> root = join();
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
  outcome.operations = operations;
  if (auto notes = recorder.take_notes(); !notes.empty())
    outcome.note = std::move(notes[static_cast<std::size_t>(rank)]);
  return outcome;
}

RankOutcome outcome_of(const ProcessEnd& end) {
  if (end.has_returned()) return rank_outcome_from_bytes(end.result);
  return {.failure = RankOutcome::Failure{.text = "its process " + end.death}};
}

}  // namespace

std::vector<RankOutcome> run_gloo_processes(const Launch& launch,
                                            const GlooProcessOptions& options) {
  const MeetingPlace place;
  const Duration slack = std::chrono::seconds(10);
  const Duration grace =
      launch.options.timeout < no_timeout - slack ? launch.options.timeout + slack : no_timeout;
  std::vector<RankOutcome> outcomes;
  for (const ProcessEnd& end : run_processes(
           launch.options.world_size,
           [&](int rank) { return to_bytes(GlooProcess{launch, options, place, rank}.run()); },
           grace))
    outcomes.push_back(outcome_of(end));
  return outcomes;
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
