#include "properties/runs_replay.h"

#include <fmt/format.h>

#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

// The first event in which the traces differ.
std::string trace_difference(const sim::Trace& one, const sim::Trace& other) {
  if (one == other) return {};
  for (std::size_t i = 0; i < std::min(one.events.size(), other.events.size()); ++i) {
    if (one.events[i] == other.events[i]) continue;
    return fmt::format("event {} is {} of rank {} in one run, {} of rank {} in the other", i,
                       one.events[i].operation, one.events[i].rank, other.events[i].operation,
                       other.events[i].rank);
  }
  return fmt::format("the traces have {} and {} events, digests {:x} and {:x}", one.events.size(),
                     other.events.size(), one.digest, other.digest);
}

// Everything but the wall-clock time.
std::string report_difference(const sim::Report& one, const sim::Report& other) {
  if (std::string difference = trace_difference(one.trace, other.trace); !difference.empty()) {
    return difference;
  }
  if (one.outcome != other.outcome) return "the outcomes differ";
  if (one.findings != other.findings) return "the findings differ";
  if (one.blocked != other.blocked) return "the blocked calls differ";
  if (one.schedule != other.schedule) return "the schedules differ";
  if (one.counts != other.counts) return "the counts differ";
  if (one.virtual_time != other.virtual_time) return "the virtual times differ";
  return {};
}

std::string run_difference(const ProgramRun& one, const ProgramRun& other) {
  if (std::string difference = report_difference(one.report, other.report); !difference.empty()) {
    return difference;
  }
  return one.image == other.image ? "" : "the results differ";
}

Verdict verdict_of(std::string difference) {
  return difference.empty() ? Verdict::holds() : Verdict::violated(std::move(difference));
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
  return verdict_of(run_difference(first, run_program(memory, recorded(program), subject)));
}

Verdict judge_replay(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  sim::SimulationOptions options = recorded(program);
  const ProgramRun first = run_program(memory, options, subject);
  options.scheduler = sim::SchedulerKind::replay;
  options.replay = first.report.schedule;
  const ProgramRun second = run_program(memory, options, subject);
  if (!second.report.divergence.empty()) return Verdict::violated(second.report.divergence);
  return verdict_of(run_difference(first, second));
}

Verdict judge_contexts(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  sim::SimulationOptions options = recorded(program);
  options.context = sim::ContextKind::fiber;
  const ProgramRun on_fibers = run_program(memory, options, subject);
  options.context = sim::ContextKind::thread;
  return verdict_of(run_difference(on_fibers, run_program(memory, options, subject)));
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
    if (shuffled.image == in_turn.image && shuffled.report.findings == in_turn.report.findings) {
      continue;
    }
    return Verdict::violated(
        fmt::format("the random schedule of seed {} leaves other results", options.seed));
  }
  return Verdict::holds();
}

Verdict judge_parallel(const GangProgram& program, const Subject& subject) {
  sim::SimulationOptions options = options_of(program);
  options.context = sim::ContextKind::parallel;
  options.scheduler = sim::SchedulerKind::round_robin;  // the operating system's, really
  return judge_against_model(ProgramMemory(program), options, subject);
}

using Judge = Verdict (*)(const GangProgram&, const Subject&);

struct NamedLaw {
  const char* name;
  const char* description;
  std::uint64_t cost;
  Judge judge;
};

constexpr NamedLaw laws[] = {
    {"same_seed_gives_the_same_trace", "Two runs with equal options are equal, event by event.", 2,
     judge_same_seed},
    {"a_replayed_schedule_gives_the_same_trace", "The recorded choices are enough.", 2,
     judge_replay},
    {"fibers_and_threads_give_the_same_trace", "What carries the ranks does not show.", 20,
     judge_contexts},
    {"results_do_not_depend_on_the_schedule", "Random schedules leave what round robin leaves.", 2,
     judge_schedules},
    {"parallel_ranks_give_the_same_results", "Ranks that really run at once leave what fibers do.",
     50, judge_parallel},
};

}  // namespace

std::vector<Property> runs_replay(const Subject& subject) {
  std::vector<Property> properties;
  for (const NamedLaw& named : laws) {
    Law<GangProgram> law;
    law.suite = "runs_replay";
    law.name = named.name;
    law.description = named.description;
    law.cost = named.cost;
    law.generate = [](Draw& draw) { return generate_program(draw); };
    law.verdict = [subject, judge = named.judge](const GangProgram& program) {
      return judge(program, subject);
    };
    properties.push_back(to_property(law));
  }
  return properties;
}

}  // namespace gang::properties
