#include "harness/backends/rank_process.h"

#include <signal.h>

#include <thread>
#include <utility>

namespace gang::harness {
namespace {

RankOutcome outcome_of(const ProcessEnd& end) {
  if (end.has_returned()) return rank_outcome_from_bytes(end.result);
  return {.failure = RankOutcome::Failure{.text = "its process " + end.death}};
}

}  // namespace

RankOutcome run_rank(const RankTask& task, const std::function<std::shared_ptr<Gang>()>& join) {
  RankOutcome outcome;
  OutputRecorder recorder(task.world_size, KeepOutputs::data);
  const RunContext context{
      .parameters = task.parameters, .recorder = recorder, .seed = task.seed, .log = task.log};
  try {
    const std::shared_ptr<Gang> root = join();
    Rank self{{.rank = task.rank,
               .world_size = task.world_size,
               .root = root,
               .runtime = task.runtime,
               .incarnation = task.incarnation},
              context};
    task.program.run(self);
    root->close();
  } catch (const std::exception& error) {
    outcome.failure = failure_of(error);
  }
  if (WrongResults wrong = recorder.wrong_results(); !wrong.ranks.empty()) {
    outcome.wrong_result = std::move(wrong.first_message);
    outcome.wrong_result_location = std::move(wrong.first_location);
  }
  const auto index = static_cast<std::size_t>(task.rank);
  outcome.outputs = std::move(recorder.take_outputs().by_rank[index]);
  if (auto notes = recorder.take_notes(); !notes.empty()) outcome.note = std::move(notes[index]);
  return outcome;
}

std::vector<RankOutcome> run_rank_processes(const Launch& launch, Duration slack,
                                            const std::function<RankOutcome(int rank)>& body) {
  const Duration timeout = launch.options.timeout;
  const Duration grace = timeout < no_timeout - slack ? timeout + slack : no_timeout;
  std::vector<RankOutcome> outcomes;
  for (const ProcessEnd& end : run_processes(
           launch.options.world_size, [&body](int rank) { return to_bytes(body(rank)); }, grace))
    outcomes.push_back(outcome_of(end));
  return outcomes;
}

RankOutcome run_incarnations(const Incarnations& incarnations,
                             const std::function<RankOutcome(int incarnation)>& body) {
  const auto run = [&](int incarnation) {
    return run_processes(
               1, [&](int) { return to_bytes(body(incarnation)); }, incarnations.limits)
        .front();
  };
  const ProcessEnd first = run(0);
  if (first.signal != SIGKILL || !incarnations.pause) return outcome_of(first);
  std::this_thread::sleep_for(*incarnations.pause);
  RankOutcome again = outcome_of(run(1));
  ++again.struck;
  return again;
}

}  // namespace gang::harness
