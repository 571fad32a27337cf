#include "sim/faults/fault_plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/text/rank_ranges.h"

namespace gang::sim {
namespace {

std::string range_text(const Between<std::uint64_t>& range) {
  return range.is_fixed() ? fmt::format("{}", range.least)
                          : fmt::format("{} to {}", range.least, range.most);
}

std::string range_text(const Between<Duration>& range) {
  return range.is_fixed()
             ? gang::to_string(range.least)
             : fmt::format("{} to {}", gang::to_string(range.least), gang::to_string(range.most));
}

std::string struck_ranks_text(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", to_rank_ranges(ranks, 6));
}

std::string victims_text(const Fault& fault) {
  std::vector<std::string> parts;
  if (!fault.ranks.empty()) parts.push_back(struck_ranks_text(fault.ranks));
  if (!fault.nodes.empty()) parts.push_back(fmt::format("nodes {}", fmt::join(fault.nodes, ",")));
  if (fault.random_nodes > 0) parts.push_back(fmt::format("{} drawn nodes", fault.random_nodes));
  if (fault.random_ranks > 0 || parts.empty())
    parts.push_back(fmt::format("{} drawn ranks", std::max(1, fault.random_ranks)));
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string_view moment_text(FaultMoment moment) {
  return moment == FaultMoment::any ? "around" : name_of(fault_moment_names, moment);
}

std::string trigger_text(const FaultTrigger& trigger) {
  std::string text;
  if (trigger.operation)
    text = fmt::format(" {} operation {}", moment_text(trigger.moment),
                       range_text(*trigger.operation));
  if (trigger.message) text = " at message " + range_text(*trigger.message);
  if (trigger.time) text = " at " + range_text(*trigger.time);
  if (trigger.probability)
    text = fmt::format(" with probability {}{}", *trigger.probability,
                       trigger.moment == FaultMoment::before
                           ? std::string()
                           : fmt::format(" {} operations", moment_text(trigger.moment)));
  if (trigger.during) text += fmt::format(" of {}", gang::to_string(*trigger.during));
  if (!trigger.gang.empty()) text += " on " + trigger.gang;
  if (trigger.while_rank) text += fmt::format(" while rank {} is in it", *trigger.while_rank);
  return text;
}

// "plan.toml:7: ": the key, or its table, if the plan came from a file.
std::string place_of(const FaultPlan& plan, std::size_t fault, const std::string& key) {
  const bool is_of_fault = fault < plan.faults.size();
  const auto& lines = (is_of_fault ? plan.faults[fault].lines : plan.lines).by_key;
  auto line = lines.find(key);
  if (line == lines.end()) line = lines.find("");
  if (line == lines.end()) return "";
  return plan.name.empty() ? "faults: " : fmt::format("{}:{}: ", plan.name, line->second);
}

}  // namespace

FaultPlanError::FaultPlanError(std::size_t fault, std::string key, const std::string& message,
                               const FaultPlan& plan)
    : InvalidArgument(
          place_of(plan, fault, key) +
          (fault == no_fault ? message : fmt::format("fault {}: {}", fault + 1, message))),
      fault_(fault),
      key_(std::move(key)) {}

std::string to_string(const Fault& fault) {
  std::string text(to_string(fault.kind));
  if (is_of_link(fault.kind))
    text += fmt::format(" of {} {} {}", victims_text(fault), fault.one_way ? "->" : "<->",
                        fault.to.empty() ? "all other ranks" : struck_ranks_text(fault.to));
  else
    text += " of " + victims_text(fault);
  text += trigger_text(fault.trigger);
  if (fault.delay) text += ", delay " + range_text(*fault.delay);
  if (fault.factor != 1) text += fmt::format(", factor {}", fault.factor);
  if (fault.lasts) text += ", for " + range_text(*fault.lasts);
  if (fault.notice) text += ", noticed after " + range_text(*fault.notice);
  if (fault.corruption == Corruption::nan) text += ", nan";
  if (fault.error_at)
    text += fault.error_at->empty() ? ", its operation completes"
                                    : ", error at " + struck_ranks_text(*fault.error_at);
  return text;
}

}  // namespace gang::sim
