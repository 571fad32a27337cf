#include "harness/run/runner.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/replica_verifying_gang.h"
#include "harness/backends/backend.h"
#include "harness/run/fault_check.h"
#include "harness/run/repeated_run.h"
#include "sim/further_runs/settled_run.h"

namespace gang::harness {
namespace {

sim::SchedulerKind scheduler_of(ScheduleChoice choice) {
  return choice == ScheduleChoice::round_robin ? sim::SchedulerKind::round_robin
                                               : sim::SchedulerKind::random;
}

sim::SimulationOptions to_simulation_options(const RunSpecification& specification, int world_size,
                                             const RunRecording& recording) {
  sim::SimulationOptions options = specification.options;
  options.world_size = world_size;
  options.backend = simulated_backend(specification.backend);
  options.scheduler = scheduler_of(specification.schedule);
  if (specification.faults)
    options.faults = std::make_shared<const sim::FaultPlan>(
        sim::draw(*specification.faults, options.seed, world_size));
  options.trace = recording.trace;
  options.schedule = recording.schedule;
  options.timeline = recording.timeline;
  options.call_stacks = sim::Recording::on;
  options.guide = recording.guide;
  if (recording.guide != nullptr && specification.schedule == ScheduleChoice::round_robin)
    options.scheduler = sim::SchedulerKind::guided;
  return options;
}

sim::Finding wrong_result(std::string message) {
  return {.id = std::string{sim::finding_id::wrong_result}, .message = std::move(message)};
}

// What the ranks and the program's check found wrong with the results.
void add_wrong_results(const Program& program, WrongResults wrong, const Outputs& outputs,
                       sim::Report& report) {
  if (!wrong.ranks.empty()) {
    sim::Finding finding = wrong_result(std::move(wrong.first_message));  // the program's own
    if (!wrong.first_location.empty()) {
      if (!finding.message.ends_with('.')) finding.message += '.';
      finding.detail =
          fmt::format("{} {} said so at {}.", wrong.ranks.size() == 1 ? "Rank" : "Ranks",
                      sim::to_rank_ranges(wrong.ranks), to_string(wrong.first_location));
    }
    finding.ranks = std::move(wrong.ranks);
    finding.location = std::move(wrong.first_location);
    report.findings.push_back(std::move(finding));
  }
  if (!program.check || report.outcome != sim::Outcome::completed) return;
  if (auto failure = program.check(outputs))
    report.findings.push_back(wrong_result(*std::move(failure)));
}

// A further run of what has been run, to see what becomes of it otherwise.
struct OtherRun {
  sim::Report report;
  Outputs outputs;
  WrongResults wrong;
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
  other.wrong = recorder.wrong_results();
  return other;
}

// Settles by further runs what the report leaves open.
void settle(const Backend& backend, const Launch& launch, const Program& program,
            const OutputRecorder& recorder, const FaultWatch& watch, RunResult& result) {
  Outputs outputs;  // of the last further run
  KeepOutputs keep = KeepOutputs::digest_only;
  const sim::RunAgain again = [&](const sim::SimulationOptions& options) {
    OtherRun other = run_otherwise(backend, launch, options, keep);
    outputs = std::move(other.outputs);
    return std::move(other.report);
  };
  sim::settle_deadlock(launch.options, result.report, again);
  sim::settle_culprits(launch.options, result.report, again);
  add_wrong_results(program, recorder.wrong_results(), result.outputs, result.report);
  if (launch.options.faults) {
    if (result.report.faults.empty()) watch.judge({}, result);
    keep = KeepOutputs::data;
    bool is_judged = false;
    sim::settle_faults(launch.options, result.report, [&](const sim::SimulationOptions& options) {
      sim::Report further = again(options);
      if (!std::exchange(is_judged, true))
        watch.judge([&outputs]() -> const Outputs& { return outputs; }, result);
      return further;
    });
  }
}

// Whether what the run came to can be said of other schedules.
bool is_of_schedules(const RunSpecification& specification) noexcept {
  return is_simulated(specification.backend) && !specification.faults &&
         specification.options.context != sim::ContextKind::parallel;
}

// What the neighbours of a run tell of it.
void look_around(const Backend& backend, const Launch& launch, const Program& program,
                 sim::Neighbours neighbours, RunResult& result) {
  const KeepOutputs keep = program.check ? KeepOutputs::data : KeepOutputs::digest_only;
  std::uint64_t digest = 0;  // of the last of them
  const sim::Surroundings seen = sim::look_around(
      launch.options, result.report,
      [&](const sim::SimulationOptions& options) {
        OtherRun other = run_otherwise(backend, launch, options, keep);
        digest = other.outputs.digest;
        add_wrong_results(program, std::move(other.wrong), other.outputs, other.report);
        return std::move(other.report);
      },
      neighbours, [&digest] { return digest; });
  if (seen.contests == 0U && is_of_schedules(result.specification)) {
    result.is_in_every_schedule = true;
    sim::note_uncontested(result.report);
  }
  if (neighbours != sim::Neighbours::all) return;
  result.contested_choices = seen.contests.value_or(0);
  result.choices = seen.choices;
  result.decisive = seen.decisive;
}

// The program on gangs that verify what the specification says, if that is anything.
std::optional<Program> verifying(const Program& program, const RunSpecification& specification) {
  if (specification.verify == Verification::none) return std::nullopt;
  Program verified = program;
  verified.run = [run = program.run](Rank& rank) {
    const std::shared_ptr<Gang> root = make_replica_verifying_gang(rank.root());
    Rank on_verifying_gang{rank, root};
    run(on_verifying_gang);
  };
  return verified;
}

RunResult run_along(const Program& given, const RunSpecification& specification,
                    const std::optional<sim::Schedule>& schedule, const RunRecording& recording,
                    std::string_view binary) {
  const std::optional<Program> verified = verifying(given, specification);
  const Program& program = verified ? *verified : given;
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
  const RunContext context{
      .parameters = parameters, .recorder = recorder, .seed = options.seed, .log = recording.log};
  const FaultWatch watch{program};
  const Launch launch{.program = options.faults ? watch.program() : program,
                      .context = context,
                      .options = options};
  RunResult result{.report = backend.run(launch),
                   .specification = specification,
                   .world_size = world_size,
                   .outputs = recorder.take_outputs(),
                   .notes = recorder.take_notes()};
  result.specification.world_size = world_size;
  const sim::Certainty* const certainty = sim::certainty_of(result.report);
  const sim::Schedules happens_in =
      certainty != nullptr ? certainty->schedules : result.report.schedules;
  result.is_in_every_schedule =
      is_of_schedules(specification) && happens_in == sim::Schedules::every;
  const Launch unwatched{.program = program, .context = context, .options = options};
  if (recording.settles) {
    settle(backend, unwatched, program, recorder, watch, result);
    const sim::Neighbours neighbours =
        is_of_schedules(specification)
            ? recording.neighbours
            : std::min(recording.neighbours, sim::Neighbours::of_messages);
    look_around(backend, unwatched, program, neighbours, result);
    if (neighbours == sim::Neighbours::all && !result.is_in_every_schedule)
      result.explore = to_explore_line(specification, binary);
  } else {
    if (result.report.histories != nullptr)
      sim::settle_culprits(options, result.report, sim::RunAgain());
    add_wrong_results(program, recorder.wrong_results(), result.outputs, result.report);
    if (options.faults) watch.judge(recording.clean, result);
  }
  if (recording.shown == Shown::always || is_failure(result))
    result.reproduce = to_command_line(specification, binary);
  return result;
}

}  // namespace

RunResult run(const Program& program, const RunSpecification& specification,
              const RunRecording& recording, std::string_view binary) {
  if (specification.schedule != ScheduleChoice::recheck)
    return run_along(program, specification, std::nullopt, recording, binary);
  RunRecording traced = recording;
  traced.trace = sim::Recording::on;
  RunResult result = run_along(program, specification, std::nullopt, traced, binary);
  const Repeat repeat = [&](sim::Recording trace) {
    return run_along(program, specification, std::nullopt, {.trace = trace, .settles = false},
                     binary);
  };
  if (can_be_repeated(result) && !repeats_itself(result, repeat))
    note_nondeterminism(result, repeat);
  if (recording.trace == sim::Recording::off) result.report.trace.events.clear();
  return result;
}

RunResult replay(const Program& program, const RunSpecification& specification,
                 const sim::Schedule& schedule, const RunRecording& recording,
                 std::string_view binary) {
  return run_along(program, specification, schedule, recording, binary);
}

}  // namespace gang::harness
