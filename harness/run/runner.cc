#include "harness/run/runner.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/replica_verifying_gang.h"
#include "harness/backends/backend.h"
#include "harness/program_file/fault_file.h"
#include "harness/run/fault_check.h"
#include "sim/injection/fault_injector.h"
#include "sim/verdict/message_race.h"
#include "sim/verdict/settled_certainty.h"

namespace gang::harness {
namespace {

sim::SchedulerKind scheduler_of(ScheduleChoice choice) {
  return choice == ScheduleChoice::round_robin ? sim::SchedulerKind::round_robin
                                               : sim::SchedulerKind::random;
}

sim::SimulationOptions to_simulation_options(const RunSpecification& specification, int world_size,
                                             const RunRecording& recording) {
  sim::SimulationOptions options;
  if (specification.backend == "sim-gloo") options.backend = sim::SimulatedBackend::gloo;
  options.world_size = world_size;
  options.seed = specification.seed;
  options.context = specification.context;
  options.scheduler = scheduler_of(specification.schedule);
  options.execution = specification.execution;
  options.sends = specification.sends;
  options.nccl = specification.nccl;
  options.timeout = specification.timeout;
  options.pending_timeouts = specification.pending_timeouts;
  options.watchdog = specification.watchdog;
  options.strict_blocking = specification.strict_blocking;
  options.deadlock_search = specification.deadlock_search;
  if (specification.faults) {
    check_faults(*specification.faults, world_size);
    options.faults = std::make_shared<const sim::FaultPlan>(
        sim::draw(*specification.faults, specification.seed, world_size));
  }
  if (specification.step_limit) options.step_limit = *specification.step_limit;
  options.trace = recording.trace;
  options.schedule = recording.schedule;
  options.call_stacks = sim::Recording::on;
  options.timeline = recording.timeline;
  return options;
}

sim::Finding wrong_result(std::string message) {
  return {.id = std::string{sim::finding_id::wrong_result}, .message = std::move(message)};
}

// "Nothing adds up. Ranks 2-3 said so at train.cc:41.": the sentence is the program's own.
std::string words_of(const WrongResults& wrong) {
  if (wrong.first_location.empty()) return wrong.first_message;
  return fmt::format("{}{} {} {} said so at {}.", wrong.first_message,
                     wrong.first_message.ends_with('.') ? "" : ".",
                     wrong.ranks.size() == 1 ? "Rank" : "Ranks", sim::to_rank_ranges(wrong.ranks),
                     wrong.first_location);
}

// What the ranks and the program's check found wrong with the results.
void add_wrong_results(const Program& program, const OutputRecorder& recorder, RunResult& result) {
  WrongResults wrong = recorder.wrong_results();
  if (!wrong.ranks.empty()) {
    sim::Finding finding = wrong_result(words_of(wrong));
    finding.ranks = std::move(wrong.ranks);
    finding.location = std::move(wrong.first_location);
    result.report.findings.push_back(std::move(finding));
  }
  if (!program.check || result.report.outcome != sim::Outcome::completed) return;
  if (auto failure = program.check(result.outputs)) {
    result.report.findings.push_back(wrong_result(*std::move(failure)));
  }
}

sim::SimulationOptions without_faults(sim::SimulationOptions options) {
  options.faults = nullptr;
  if (options.scheduler == sim::SchedulerKind::replay)
    options.scheduler = sim::SchedulerKind::round_robin;
  options.replay.reset();
  return options;
}

// A further run of what has been run, to see what becomes of it otherwise.
struct OtherRun {
  sim::Report report;
  Outputs outputs;
};

OtherRun run_otherwise(const Backend& backend, const Launch& launch,
                       const sim::SimulationOptions& options,
                       KeepOutputs keep = KeepOutputs::digest_only) {
  OutputRecorder recorder{options.world_size, keep};
  const RunContext context{
      .parameters = launch.context.parameters, .recorder = recorder, .seed = launch.context.seed};
  OtherRun other;
  other.report = backend.run({.program = launch.program, .context = context, .options = options});
  other.outputs = recorder.take_outputs();
  return other;
}

// Settles what the report of a deadlock leaves open about sends and streams.
void settle_certainty(const Backend& backend, const Launch& launch, sim::Report& report) {
  if (const auto options = sim::settling_options(launch.options, report))
    sim::settle(launch.options, report, run_otherwise(backend, launch, *options).report);
}

// Whether the findings of a run in which faults happened are there without them, too.
void settle_faults(const sim::Report& clean, sim::Report& report) {
  for (sim::Finding& finding : report.findings) {
    if (std::ranges::find(clean.findings, finding.id, &sim::Finding::id) != clean.findings.end())
      finding.certainty = "without the faults, too: they are not the cause";
    else if (!clean.holds())
      finding.certainty =
          clean.findings.empty()
              ? std::string("with the faults: without them the run ends otherwise")
              : "with the faults: without them the run ends in " + clean.findings.front().id;
    else if (finding.certainty.empty())
      finding.certainty = sim::only_because_of(report.faults);
  }
}

// Judges a run with faults by one without.
void judge_faults(const Backend& backend, const Launch& launch, const FaultWatch& watch,
                  RunResult& result) {
  if (result.report.faults.empty()) return watch.judge(nullptr, result);
  const OtherRun clean =
      run_otherwise(backend, launch, without_faults(launch.options), KeepOutputs::data);
  watch.judge(&clean.outputs, result);
  settle_faults(clean.report, result.report);
}

// Adds the first receive from any source of a run that holds whose result depends on the sender.
void find_message_race(const Backend& backend, const Launch& launch, std::uint64_t digest,
                       sim::Report& report) {
  if (!report.holds()) return;
  for (const sim::RaceCandidate& candidate : report.race_candidates) {
    const OtherRun other =
        run_otherwise(backend, launch, sim::forcing_options(launch.options, candidate));
    auto finding = sim::message_race(candidate, other.report, other.outputs.digest != digest);
    if (!finding) continue;
    report.findings.push_back(*std::move(finding));
    return;
  }
}

// The program on gangs that verify what the specification says.
Program verifying(const Program& program, const RunSpecification& specification) {
  if (specification.verify == Verification::none) return program;
  Program verified = program;
  verified.run = [run = program.run](Rank& rank) {
    const std::shared_ptr<Gang> root = make_replica_verifying_gang(rank.root());
    Rank on_verifying_gang{rank, root};
    run(on_verifying_gang);
  };
  return verified;
}

RunResult run_along(const Program& unverified, const RunSpecification& specification,
                    const std::optional<sim::Schedule>& schedule, const RunRecording& recording,
                    std::string_view binary) {
  const Program program = verifying(unverified, specification);
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

  const bool keeps_outputs = program.check || options.faults;
  OutputRecorder recorder{world_size, keeps_outputs ? KeepOutputs::data : recording.outputs};
  const RunContext context{.parameters = parameters,
                           .recorder = recorder,
                           .seed = specification.seed,
                           .log = recording.log};
  const FaultWatch watch{program, world_size};
  const Launch launch{.program = options.faults ? watch.program() : program,
                      .context = context,
                      .options = options,
                      .recheck = !schedule && specification.schedule == ScheduleChoice::recheck};
  RunResult result{.report = backend.run(launch),
                   .specification = specification,
                   .world_size = world_size,
                   .outputs = recorder.take_outputs(),
                   .notes = recorder.take_notes(),
                   .reproduce = to_command_line(specification, binary)};
  result.specification.world_size = world_size;
  const Launch unwatched{.program = program, .context = context, .options = options};
  settle_certainty(backend, unwatched, result.report);
  add_wrong_results(program, recorder, result);
  if (options.faults) judge_faults(backend, unwatched, watch, result);
  find_message_race(backend, unwatched, result.outputs.digest, result.report);
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
