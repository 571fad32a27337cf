#include "sim/verdict/settled_certainty.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {
namespace {

// Of a settling run: what it may come to, in case the program does not end without the deadlock.
constexpr std::uint64_t most_buffered_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t least_step_limit = 1'000'000;

// What a deadlock's certainty leaves open.
struct Open {
  std::string condition;
  std::string_view without;  // what the settling run does instead
};

bool names(std::string_view certainty, std::string_view condition) {
  const std::size_t place = certainty.find(condition);
  return place != std::string_view::npos && certainty.find("but only") == std::string_view::npos;
}

std::optional<Open> open_in(const SimulationOptions& options, const Report& report) {
  if (report.outcome != Outcome::deadlock) return std::nullopt;
  if (const std::string sends = send_condition(options.sends); names(report.certainty, sends))
    return Open{sends, "with buffered sends"};
  if (names(report.certainty, stream_condition))
    return Open{std::string(stream_condition), "without streams"};
  return std::nullopt;
}

std::string settled(std::string_view certainty, const Open& open, const Report& settling) {
  std::string text(certainty);
  const std::size_t place = text.find(open.condition);
  if (place == std::string::npos) return text;
  const std::size_t colon = text.find(':', place);
  const std::string_view schedules = std::string_view(text).substr(0, place);
  const std::string_view others =
      std::string_view(text).substr(place, colon - place).substr(open.condition.size());
  if (settling.holds())
    return fmt::format("{}but only {}{}: {} it completes", schedules, open.condition, others,
                       open.without);
  const std::string other_id =
      settling.findings.empty() ? std::string() : " in " + settling.findings.front().id;
  return fmt::format("{}{}{}: {} it ends{} too", schedules, open.condition, others, open.without,
                     other_id);
}

bool explains_itself(std::string_view id) {
  return id == finding_id::point_to_point_cycle || id == finding_id::stream_order_inversion ||
         id == finding_id::mismatch_tag || id == finding_id::mismatch_gang;
}

}  // namespace

std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report) {
  const std::optional<Open> open = open_in(options, report);
  if (!open) return std::nullopt;
  SimulationOptions settling = options;
  if (open->condition == stream_condition)
    settling.execution = ExecutionModel::independent;
  else
    settling.sends = SendMode::buffered(most_buffered_bytes);
  if (settling.scheduler == SchedulerKind::replay) settling.scheduler = SchedulerKind::round_robin;
  settling.replay.reset();
  settling.step_limit =
      std::min(options.step_limit, std::max(least_step_limit, 100 * report.counts.switches));
  settling.trace = Recording::off;
  settling.schedule = Recording::off;
  return settling;
}

void settle(const SimulationOptions& options, Report& report, const Report& settling) {
  const std::optional<Open> open = open_in(options, report);
  if (!open) return;
  const bool completes = settling.holds();
  for (Finding& finding : report.findings) {
    if (!names(finding.certainty, open->condition)) continue;
    finding.certainty = settled(finding.certainty, *open, settling);
    if (!completes || open->condition == stream_condition || explains_itself(finding.id)) continue;
    finding.id = finding_id::buffering_hazard;
    finding.message = "Sends wait to be received, and with buffered sends the program completes. " +
                      finding.message;
  }
  report.certainty = settled(report.certainty, *open, settling);
}

}  // namespace gang::sim
