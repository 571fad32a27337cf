#include "harness/runner.h"

#include <optional>

#include "gang/error.h"
#include "harness/backend.h"
#include "sim/message_race.h"
#include "sim/settled_certainty.h"

namespace gang::harness {
namespace {

sim::SchedulerKind scheduler_of(ScheduleChoice choice) {
  return choice == ScheduleChoice::round_robin ? sim::SchedulerKind::round_robin
                                               : sim::SchedulerKind::random;
}

sim::SimulationOptions to_simulation_options(const RunSpecification& specification, int world_size,
                                             const RunRecording& recording) {
  sim::SimulationOptions options;
  options.world_size = world_size;
  options.seed = specification.seed;
  options.context = specification.context;
  options.scheduler = scheduler_of(specification.schedule);
  options.execution = specification.execution;
  options.sends = specification.sends;
  options.timeout = specification.timeout;
  options.pending_timeouts = specification.pending_timeouts;
  options.strict_blocking = specification.strict_blocking;
  options.deadlock_search = specification.deadlock_search;
  if (specification.step_limit) options.step_limit = *specification.step_limit;
  options.trace = recording.trace;
  options.schedule = recording.schedule;
  options.call_stacks = sim::Recording::on;
  options.timeline = recording.timeline;
  return options;
}

sim::Finding wrong_result(std::string message, std::vector<int> ranks) {
  return {.id = std::string{sim::finding_id::wrong_result},
          .ranks = std::move(ranks),
          .message = std::move(message)};
}

// What the ranks and the program's check found wrong with the results.
void add_wrong_results(const Program& program, const OutputRecorder& recorder, RunResult& result) {
  WrongResults wrong = recorder.wrong_results();
  if (!wrong.ranks.empty()) {
    result.report.findings.push_back(
        wrong_result(std::move(wrong.first_message), std::move(wrong.ranks)));
  }
  if (!program.check || result.report.outcome != sim::Outcome::completed) return;
  if (auto failure = program.check(result.outputs)) {
    result.report.findings.push_back(wrong_result(*std::move(failure), {}));
  }
}

// A further run of what has been run, to see what becomes of it otherwise.
struct OtherRun {
  sim::Report report;
  std::uint64_t digest = 0;  // of the outputs
};

OtherRun run_otherwise(const Backend& backend, const Launch& launch,
                       const sim::SimulationOptions& options) {
  OutputRecorder recorder{options.world_size, KeepOutputs::digest_only};
  const RunContext context{
      .parameters = launch.context.parameters, .recorder = recorder, .seed = launch.context.seed};
  OtherRun other;
  other.report = backend.run({.program = launch.program, .context = context, .options = options});
  other.digest = recorder.take_outputs().digest;
  return other;
}

// Settles what the report of a deadlock leaves open about sends and streams.
void settle_certainty(const Backend& backend, const Launch& launch, sim::Report& report) {
  if (const auto options = sim::settling_options(launch.options, report))
    sim::settle(launch.options, report, run_otherwise(backend, launch, *options).report);
}

// Adds the first receive from any source of a run that holds whose result depends on the sender.
void find_message_race(const Backend& backend, const Launch& launch, std::uint64_t digest,
                       sim::Report& report) {
  if (!report.holds()) return;
  for (const sim::RaceCandidate& candidate : report.race_candidates) {
    const OtherRun other =
        run_otherwise(backend, launch, sim::forcing_options(launch.options, candidate));
    auto finding = sim::message_race(candidate, other.report, other.digest != digest);
    if (!finding) continue;
    report.findings.push_back(*std::move(finding));
    return;
  }
}

RunResult run_along(const Program& program, const RunSpecification& specification,
                    const std::optional<sim::Schedule>& schedule, const RunRecording& recording,
                    std::string_view binary) {
  const Backend& backend = require_backend(specification.backend);
  const ParameterValues parameters{program.parameters, specification.parameters};
  const int world_size = specification.world_size.value_or(program.default_world_size);
  sim::SimulationOptions options = to_simulation_options(specification, world_size, recording);
  if (schedule) {
    options.scheduler = sim::SchedulerKind::replay;
    options.replay = schedule;
  }
  sim::validate(options);
  if (program.validate) program.validate(world_size, parameters);

  OutputRecorder recorder{world_size, program.check ? KeepOutputs::data : recording.outputs};
  const RunContext context{.parameters = parameters,
                           .recorder = recorder,
                           .seed = specification.seed,
                           .log = recording.log};
  const Launch launch{.program = program,
                      .context = context,
                      .options = options,
                      .recheck = !schedule && specification.schedule == ScheduleChoice::recheck};
  RunResult result{.report = backend.run(launch),
                   .specification = specification,
                   .world_size = world_size,
                   .outputs = recorder.take_outputs(),
                   .reproduce = to_command_line(specification, binary)};
  result.specification.world_size = world_size;
  settle_certainty(backend, launch, result.report);
  add_wrong_results(program, recorder, result);
  find_message_race(backend, launch, result.outputs.digest, result.report);
  return result;
}

}  // namespace

RunResult run(const Program& program, const RunSpecification& specification,
              const RunRecording& recording, std::string_view binary) {
  return run_along(program, specification, std::nullopt, recording, binary);
}

RunResult replay(const Program& program, const RunSpecification& specification,
                 const sim::Schedule& schedule, const RunRecording& recording,
                 std::string_view binary) {
  return run_along(program, specification, schedule, recording, binary);
}

}  // namespace gang::harness
