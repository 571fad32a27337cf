#include "harness/run/judgement.h"

#include <utility>

#include <fmt/format.h>

#include "harness/run/decisive_choice.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/exploration_record.h"
#include "harness/run/sampled_runs.h"
#include "harness/run/schedule_shrinking.h"
#include "harness/text/number_text.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

// Why no more than a sample was taken; empty where that was asked for.
std::string why_sampled(const RunSpecification& specification, const Exploration& exploration) {
  if (std::string why = why_not_exhaustive(specification); !why.empty()) return why;
  return exploration.every ? why_not_proved(*exploration.every) : "";
}

// What the search has seen.
std::string search_text(const RunSpecification& specification, const Exploration& exploration) {
  std::string text;
  if (const auto& every = exploration.every) {
    if (every->contests > 0)
      text += fmt::format("  {} in a run at most; {} cut short\n",
                          grouped(every->contests, "contested choice"), grouped(every->cut, "run"));
    if (exploration.results > 1)
      text += fmt::format("  {} different results\n", grouped(exploration.results));
  }
  if (exploration.holds_with_buffered_sends)
    text += sim::wrapped(
        "Proved with rendezvous sends, and so with buffered ones, which only let ranks go on "
        "earlier.",
        "  ");
  if (exploration.claim == Claim::proved) return text;
  if (const std::string why = why_sampled(specification, exploration);
      !why.empty() && exploration.claim == Claim::sampled)
    text += sim::wrapped("A sample: " + why + ".", "  ");
  if (exploration.sample) text += sim::wrapped(to_text(*exploration.sample) + ".", "  ");
  return text;
}

std::string scope_of(const RunSpecification& specification, const Exploration& exploration) {
  if (exploration.claim == Claim::proved && specification.faults)
    return fmt::format("{} of {}, which cover all others",
                       grouped(exploration.every->classes, "schedule"),
                       grouped(exploration.fault_cases, "fault case"));
  if (exploration.claim == Claim::proved)
    return exploration.every->classes == 1
               ? "1 schedule: every other one is equivalent to it"
               : fmt::format("{}: every other one is equivalent to one of them",
                             grouped(exploration.every->classes, "schedule"));
  if (exploration.claim == Claim::found && !exploration.sample && exploration.every)
    return fmt::format("schedule {}", grouped(exploration.coverage.runs));
  if (exploration.claim == Claim::found)
    return fmt::format("seed {}", exploration.failure->specification.options.seed);
  const std::uint64_t first = specification.options.seed;
  const std::uint64_t random_runs =
      exploration.sample ? exploration.sample->runs : exploration.coverage.runs;
  if (random_runs <= 1) return fmt::format("seed {}", first);
  return fmt::format("seeds {} to {}", first, first + random_runs - 1);
}

bool can_be_explored(const RunSpecification& specification) noexcept {
  return is_simulated(specification.backend) &&
         specification.options.context != sim::ContextKind::parallel;
}

// "2 detours from the schedule that runs take by themselves, reduced from 4: ...".
std::string detours_text(const ExplainedFailure& failure) {
  const std::vector<sim::Detour>& left = *failure.schedule->detours;
  std::string text = left.empty()
                         ? "The schedule that runs take by themselves shows it."
                         : fmt::format("{} from the schedule that runs take by themselves{}:",
                                       grouped(left.size(), "detour"),
                                       failure.detours_found > left.size()
                                           ? fmt::format(", reduced from {}", failure.detours_found)
                                           : "");
  text = sim::wrapped(text, "  ");
  for (const sim::Detour& detour : left) text += sim::wrapped(to_string(detour), "    ");
  return text + "\n";
}

}  // namespace

ExplainedFailure explain_schedule(const Program& program, const Exploration& exploration,
                                  std::string_view binary, const RunRecording& recording) {
  const RunResult& found = *exploration.failure;
  const RunSpecification specification = found.specification;
  sim::Schedule schedule = found.report.schedule;
  std::optional<std::vector<sim::Detour>> detours = exploration.detours;
  if (detours) {
    const SimplerSchedule simpler = simplify_schedule(program, found, *detours);
    schedule = simpler.run.result.report.schedule;
    detours = simpler.run.detours;
  }
  RunRecording recorded = recording;
  recorded.trace = recorded.schedule = sim::Recording::on;
  recorded.neighbours = sim::Neighbours::none;  // they have been explored
  RunResult result = replay(program, specification, schedule, recorded, binary);
  SavedSchedule saved = make_saved_schedule(program, result);
  saved.detours = std::move(detours);
  // What the exploration has seen, rather than what a single run suspects.
  if (found.report.outcome == sim::Outcome::completed)
    result.report.findings = found.report.findings;
  result.is_in_every_schedule = found.is_in_every_schedule;
  if (found.is_in_every_schedule) sim::note_uncontested(result.report);
  if (exploration.every && exploration.every->holds_otherwise == true)
    sim::note_avoided(result.report);
  return {.result = std::move(result),
          .schedule = std::move(saved),
          .detours_found = exploration.detours ? exploration.detours->size() : 0,
          .every = exploration.sample ? std::nullopt : exploration.every};
}

ExplainedFailure explain_failure(const Program& program, const Exploration& exploration,
                                 std::string_view binary, const RunRecording& recording) {
  const sim::Schedule& schedule = exploration.failure->report.schedule;
  const bool has_schedule = schedule.choices.size() + schedule.draws.size() > 0;
  // No schedule leads again to what a program does that does not repeat itself.
  if ((exploration.detours || has_schedule) && !is_nondeterministic(*exploration.failure)) {
    const SmallerExploration smaller = shrink_exploration(program, exploration);
    ExplainedFailure explained = explain_schedule(program, smaller.exploration, binary, recording);
    if (exploration.detours) explained.detours_found = exploration.detours->size();
    explained.attempts = smaller.attempts;
    explained.steps = smaller.steps;
    return explained;
  }
  SmallerFailure smaller = shrink_failure(program, *exploration.failure, recording);
  smaller.result.reproduce = to_command_line(smaller.result.specification, binary);
  return {
      .result = std::move(smaller.result), .attempts = smaller.attempts, .steps = smaller.steps};
}

Judgement judge(const Program& program, RunSpecification specification,
                const JudgeOptions& options) {
  if (specification.program.empty()) specification.program = program.name;
  Judgement judgement;
  judgement.run = run(program, specification, {.neighbours = sim::Neighbours::all}, options.binary);
  if (is_failure(judgement.run)) {
    judgement.claim = Claim::found;
    return judgement;
  }
  if (!options.exploration || !can_be_explored(specification)) return judgement;
  // Of schedules that are drawn: a fixed one would be run again and again.
  if (specification.schedule == ScheduleChoice::round_robin)
    specification.schedule = ScheduleChoice::random;
  judgement.exploration = explore(program, specification, *options.exploration, options.progress);
  judgement.claim = judgement.exploration->claim;
  if (judgement.exploration->failure)
    judgement.failure = explain_failure(program, *judgement.exploration, options.binary);
  return judgement;
}

std::string to_string(const Judgement& judgement) {
  std::string text;
  if (judgement.exploration)
    text = summary_of(judgement.run.specification, *judgement.exploration,
                      judgement.exploration->coverage.runs) +
           '\n';
  if (judgement.failure) text += schedule_text(*judgement.failure);
  return text + to_string(judgement.shown());
}

std::string summary_of(const RunSpecification& specification, const Exploration& exploration,
                       std::uint64_t schedules) {
  const ExplorationCoverage& coverage = exploration.coverage;
  if (schedules == 0)
    return fmt::format("{}  {}, no run: there are more shards than schedules\n",
                       verdict_of(exploration.claim), specification.program);
  std::string text = fmt::format("{}  {}, {}\n\n", verdict_of(exploration.claim),
                                 specification.program, scope_of(specification, exploration));
  text += fmt::format(
      "  {}, {} operations by ranks; {} real\n", grouped(coverage.runs, "run"),
      grouped(coverage.rank_operations),
      gang::to_string(std::chrono::floor<std::chrono::milliseconds>(exploration.wall_time)));
  text += search_text(specification, exploration);
  return text + coverage_text(coverage, specification.faults.has_value());
}

std::string schedule_text(const ExplainedFailure& failure) {
  if (!failure.schedule) return {};
  std::string text;
  if (failure.steps > 0)
    text += sim::wrapped(
        fmt::format("Shrunk to world {} in {} of {}.", failure.result.world_size,
                    grouped(failure.steps, "step"), grouped(failure.attempts, "attempt")),
        "  ");
  if (failure.every) text += to_text(decisive_choice_of(*failure.every));
  if (!text.empty()) text += '\n';
  return failure.schedule->detours ? text + detours_text(failure) : text;
}

}  // namespace gang::harness
