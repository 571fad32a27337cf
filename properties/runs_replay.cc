#include <fmt/format.h>

#include "properties/all_properties.h"
#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

// The first event in which the traces differ.
std::string trace_difference(const sim::Trace& one, const sim::Trace& other) {
  if (one == other) return {};
  for (std::size_t i = 0; i < std::min(one.events.size(), other.events.size()); ++i) {
    if (one.events[i] == other.events[i]) continue;
    return fmt::format("event {} is {} of rank {} in one run, {} of rank {} in the other", i,
                       to_string(one.events[i].call), one.events[i].rank,
                       to_string(other.events[i].call), other.events[i].rank);
  }
  return fmt::format("the traces have {} and {} events, digests {:x} and {:x}", one.events.size(),
                     other.events.size(), one.digest, other.digest);
}

// Everything but the wall-clock time.
std::string report_difference(const sim::Report& one, const sim::Report& other) {
  if (std::string difference = trace_difference(one.trace, other.trace); !difference.empty())
    return difference;
  if (one.outcome != other.outcome) return "the outcomes differ";
  if (one.findings != other.findings) return "the findings differ";
  if (one.blocked != other.blocked) return "the blocked calls differ";
  if (one.schedule != other.schedule) return "the schedules differ";
  if (one.counts != other.counts) return "the counts differ";
  if (one.virtual_time != other.virtual_time) return "the virtual times differ";
  return {};
}

std::string run_difference(const ProgramRun& one, const ProgramRun& other) {
  if (std::string difference = report_difference(one.report, other.report); !difference.empty())
    return difference;
  return one.image == other.image ? "" : "the results differ";
}

sim::SimulationOptions recorded(const GangProgram& program) {
  sim::SimulationOptions options = options_of(program);
  options.trace = sim::Recording::on;
  options.schedule = sim::Recording::on;
  return options;
}

Verdict judge_same_seed(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  const ProgramRun first = run_program(memory, recorded(program), subject);
  return Verdict::holds_unless(
      run_difference(first, run_program(memory, recorded(program), subject)));
}

Verdict judge_replay(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  sim::SimulationOptions options = recorded(program);
  const ProgramRun first = run_program(memory, options, subject);
  options.scheduler = sim::SchedulerKind::replay;
  options.replay = first.report.schedule;
  const ProgramRun second = run_program(memory, options, subject);
  if (!second.report.divergence.empty()) return Verdict::violated(second.report.divergence);
  return Verdict::holds_unless(run_difference(first, second));
}

Verdict judge_contexts(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  sim::SimulationOptions options = recorded(program);
  options.context = sim::ContextKind::fiber;
  const ProgramRun on_fibers = run_program(memory, options, subject);
  options.context = sim::ContextKind::thread;
  return Verdict::holds_unless(run_difference(on_fibers, run_program(memory, options, subject)));
}

Verdict judge_schedules(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  sim::SimulationOptions options = options_of(program);
  options.scheduler = sim::SchedulerKind::round_robin;
  const ProgramRun in_turn = run_program(memory, options, subject);
  options.scheduler = sim::SchedulerKind::random;
  for (int i = 0; i < 3; ++i) {
    ++options.seed;
    const ProgramRun shuffled = run_program(memory, options, subject);
    if (shuffled.image == in_turn.image && shuffled.report.findings == in_turn.report.findings)
      continue;
    return Verdict::violated(
        fmt::format("random schedule seed {} gives different results", options.seed));
  }
  return Verdict::holds();
}

Verdict judge_parallel(const GangProgram& program, const Subject& subject) {
  sim::SimulationOptions options = options_of(program);
  options.context = sim::ContextKind::parallel;
  options.scheduler = sim::SchedulerKind::round_robin;  // in fact the operating system's
  return judge_against_model(ProgramMemory(program), options, subject);
}

using JudgeProgram = Verdict (*)(const GangProgram&, const Subject&);

constexpr LawRow<JudgeProgram> replay_laws[] = {
    {"same_seed_gives_the_same_trace", "Two runs with equal options are equal, event by event.",
     judge_same_seed, 2},
    {"a_replayed_schedule_gives_the_same_trace",
     "Replaying the recorded choices gives the same run.", judge_replay, 2},
    {"fibers_and_threads_give_the_same_trace", "A run on fibers equals one on threads.",
     judge_contexts, 20},
    {"results_do_not_depend_on_the_schedule", "Random schedules give the results of round robin.",
     judge_schedules, 2},
    {"parallel_ranks_give_the_same_results",
     "Ranks that run in parallel give the results that the model predicts.", judge_parallel, 50},
};

}  // namespace

std::vector<Property> runs_replay(const Subject& subject) {
  const auto generate = [](Draw& draw) { return generate_program(draw); };
  return laws_of<GangProgram>(replay_laws, {.suite = "runs_replay", .generate = generate},
                              [subject](JudgeProgram judge, const GangProgram& program) {
                                return judge(program, subject);
                              });
}

}  // namespace gang::properties
