#include "harness/run/exhaustive_runs.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/schedule/guide.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

std::string place_of(const sim::Access& access) {
  return access.site.line == 0 ? "" : fmt::format(" ({})", gang::to_string(access.site));
}

// "rank 1", "'loader' of rank 1".
std::string context_of(const sim::Access& access, const std::string& name) {
  return name.empty() ? fmt::format("rank {}", access.rank)
                      : fmt::format("'{}' of rank {}", name, access.rank);
}

// The outputs depend on the message that a receive from any source has taken.
sim::Finding race_finding(const sim::Contest& contest) {
  sim::Finding finding;
  finding.id = sim::finding_id::message_race;
  finding.ranks = {contest.receive->rank, contest.first.rank, contest.second.rank};
  std::ranges::sort(finding.ranks);
  finding.ranks.erase(std::ranges::unique(finding.ranks).begin(), finding.ranks.end());
  finding.location = gang::to_string(contest.receive->site);
  finding.message =
      fmt::format("The outputs depend on the order of messages: {}.", to_text(contest));
  return finding;
}

bool is_message(const std::optional<sim::Contest>& contest) {
  return contest && contest->receive.has_value();
}

}  // namespace

bool can_be_exhaustive(const RunSpecification& specification) noexcept {
  return specification.backend == BackendKind::sim && !specification.faults &&
         specification.schedule != ScheduleChoice::recheck &&
         specification.options.context != sim::ContextKind::parallel;
}

RunSpecification bounded(RunSpecification specification) {
  constexpr std::uint64_t most_switches = 5'000'000;
  if (specification.options.step_limit == sim::SimulationOptions{}.step_limit)
    specification.options.step_limit = most_switches;
  return specification;
}

void run_exhaustively(const Program& program, const RunSpecification& specification,
                      const std::function<bool()>& may_go_on, Exploration& exploration) {
  RunSpecification guided = bounded(specification);
  guided.schedule = ScheduleChoice::round_robin;
  guided.options.world_size = specification.world_size.value_or(program.default_world_size);
  RunResult result;
  const sim::RunAgain again = [&](const sim::SimulationOptions& options) {
    result = run(program, guided,
                 {.schedule = sim::Recording::on, .settles = false, .guide = options.guide});
    return result.report;
  };
  std::set<std::uint64_t> results;
  const auto ran = [&](const sim::Report& report, const std::optional<sim::Contest>& decisive) {
    exploration.coverage.add(result);
    results.insert(result.outputs.digest);
    if (is_failure(result)) exploration.failure = result;
    if (results.size() > 1 && is_message(decisive) && !exploration.failure) {
      exploration.failure = result;
      exploration.failure->report.findings.push_back(race_finding(*decisive));
    }
    const bool is_only_one = report.schedules == sim::Schedules::every;
    return !exploration.failure && !is_only_one && may_go_on();
  };
  sim::EverySchedule& every =
      exploration.every.emplace(sim::run_every_schedule(guided.options, again, ran));
  if (exploration.coverage.runs == 1 && !exploration.failure &&
      result.report.schedules == sim::Schedules::every)
    every.end = sim::EverySchedule::End::all_seen;
  exploration.results = results.size();
  if (exploration.failure)
    exploration.claim = Claim::found;
  else if (every.end == sim::EverySchedule::End::all_seen)
    exploration.claim = Claim::proved;
}

std::string to_text(const sim::Contest& contest) {
  const sim::Access& first = contest.second;  // in the run that decides it the other way
  const sim::Access& second = contest.first;
  const std::string& first_name = contest.second_context;
  const std::string& second_name = contest.first_context;
  switch (first.kind) {
    case sim::AccessKind::message:
      if (contest.receive)
        return fmt::format(
            "the receive from any source on rank {} at {} took the message of {}{}, not that of "
            "{}{}",
            contest.receive->rank, gang::to_string(contest.receive->site),
            context_of(first, first_name), place_of(first), context_of(second, second_name),
            place_of(second));
      break;
    case sim::AccessKind::lock:
      return fmt::format("{} locked a mutex before {} did", context_of(first, first_name),
                         context_of(second, second_name));
    case sim::AccessKind::notification:
      return fmt::format("{} used a condition before {} did", context_of(first, first_name),
                         context_of(second, second_name));
    case sim::AccessKind::arrival:
      return fmt::format("{} made its call{} before the operation of {}{} was tested",
                         context_of(first, first_name), place_of(first),
                         context_of(second, second_name), place_of(second));
    case sim::AccessKind::look:
      return fmt::format("{} tested its operation{} before {} made its call{}",
                         context_of(first, first_name), place_of(first),
                         context_of(second, second_name), place_of(second));
    case sim::AccessKind::call:
      if (first.mode != second.mode && first.site.line == 0)
        return fmt::format("{} broke the gang before the call of {}{}",
                           context_of(first, first_name), context_of(second, second_name),
                           place_of(second));
      if (first.mode != second.mode && second.site.line == 0)
        return fmt::format("{} called the gang{} before {} broke it", context_of(first, first_name),
                           place_of(first), context_of(second, second_name));
      break;
  }
  return fmt::format("{}{} came before {}{}", context_of(first, first_name), place_of(first),
                     context_of(second, second_name), place_of(second));
}

std::string decisive_text(const sim::EverySchedule& every) {
  if (!every.decisive) return "";
  std::string text = sim::wrapped("Decisive: " + to_text(*every.decisive) + ".", "  ");
  if (every.holds_otherwise)
    text += sim::wrapped(*every.holds_otherwise ? "Decided the other way, the run holds."
                                                : "Decided the other way, it fails, too.",
                         "  ");
  return text;
}

std::string why_not_proved(const sim::EverySchedule& every) {
  using End = sim::EverySchedule::End;
  switch (every.end) {
    case End::unguided:
      return "polls, time, draws or buffers decide, too, which exhaustive runs do not cover";
    case End::too_large:
      return "the runs are too large to compare";
    case End::diverged:
      return "the program does not repeat what it did under the same schedule: it depends on "
             "something else";
    case End::all_seen:
    case End::stopped:
      break;
  }
  return fmt::format("exhaustive runs saw {} class{} of schedules and did not come to an end",
                     every.classes, every.classes == 1 ? "" : "es");
}

}  // namespace gang::harness
