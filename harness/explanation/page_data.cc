#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/duration.h"
#include "harness/explanation/grouped_waits.h"
#include "harness/explanation/html_page.h"
#include "harness/program/digest.h"
#include "sim/faults/fault_plan.h"
#include "sim/report/crossed_calls.h"
#include "sim/report/fix.h"

namespace gang::harness {
namespace {

using nlohmann::json;

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
constexpr std::size_t few_ranges = 5;
constexpr std::size_t few_faults = 3;
constexpr std::size_t most_faults = 100;
constexpr std::size_t most_handled = 100;

std::string ranges(const std::vector<int>& ranks) { return sim::to_rank_ranges(ranks, all); }
std::string short_ranges(const std::vector<int>& ranks) {
  return sim::to_rank_ranges(ranks, few_ranges);
}

// [[first, last, stride], ...].
json ranges_of(const std::vector<int>& ranks) {
  json list = json::array();
  for (const sim::RankRange& range : sim::rank_ranges(ranks))
    list.push_back({range.first, range.last, range.stride});
  return list;
}

std::string stack_text(const std::vector<SourceLocation>& stack) {
  std::string text;
  for (const SourceLocation& frame : stack)
    text += (text.empty() ? "" : "\n") + sim::frame_text(frame);
  return text;
}

json to_page(const sim::CallSummary& call) {
  return {{"short_ranks", short_ranges(call.ranks)},
          {"count", call.ranks.size()},
          {"gang", to_string(call.gang)},
          {"operation", to_string(call.call)},
          {"location", to_string(call.location)},
          {"note", call.note}};
}

json to_page(const sim::Divergence& divergence) {
  json next = json::array();
  for (const sim::CallSummary& call : divergence.next) next.push_back(to_page(call));
  json parted = json::array();
  for (const sim::CallSummary& call : divergence.parted) parted.push_back(to_page(call));
  const bool has_majority = divergence.next.size() > 1 &&
                            divergence.next[0].ranks.size() > divergence.next[1].ranks.size();
  return {{"parted", std::move(parted)},
          {"last_common", to_page(divergence.last_common)},
          {"next", std::move(next)},
          {"has_majority", has_majority}};
}

json to_page(const sim::Finding& finding, const std::vector<sim::FiredFault>& faults) {
  json misses = json::array();
  for (const sim::NearMiss& miss : finding.near_misses)
    misses.push_back(
        {{"first", to_page(miss.first)}, {"second", to_page(miss.second)}, {"field", miss.field}});
  return {{"id", finding.id},
          {"message", sim::full_message(finding)},
          {"fix", sim::fix_for(finding)},
          {"certainty", finding.certainty ? to_string(*finding.certainty, faults) : ""},
          {"consequences", finding.consequences},
          {"divergence", finding.divergence ? to_page(*finding.divergence) : json{}},
          {"near_misses", std::move(misses)}};
}

json to_page(const WaitNode& node) {
  json to = {{"ranks", ranges(node.ranks)},
             {"short_ranks", short_ranges(node.ranks)},
             {"count", node.ranks.size()},
             {"ranges", ranges_of(node.ranks)},
             {"note", node.note},
             {"is_blocked", node.is_blocked()},
             {"is_alike", !node.group || node.group->is_alike},
             {"is_core", node.is_core()},
             {"waits_for_any", false},
             {"waits_for_count", 0}};
  for (const char* name : {"gang", "context", "operation", "location", "behind", "behind_location",
                           "sequence", "arguments", "waits_for", "timeout", "stack"})
    to[name] = "";
  if (!node.is_blocked()) return to;
  const sim::CallGroup& group = *node.group;
  const sim::BlockedCall& call = group.first();
  to["gang"] = group.gang_text();
  to["context"] = call.context;
  to["operation"] = to_string(group.call);
  to["location"] = to_string(call.location);
  if (group.behind) {
    to["behind"] =
        fmt::format("{}  {}", to_string(group.behind->gang), to_string(group.behind->call));
    to["behind_location"] = to_string(group.behind->location);
  }
  if (group.call.sequence) to["sequence"] = std::to_string(*group.call.sequence);
  to["arguments"] = arguments_text(group.call);
  to["waits_for"] = group.is_alike ? sim::waits_text(group, few_ranges) : "others of the same kind";
  to["waits_for_count"] = call.waits_for_count;
  to["waits_for_any"] = call.waits_for_any;
  to["stack"] = stack_text(node.call_stack);
  if (call.would_time_out_after_ns != 0)
    to["timeout"] = gang::to_string(Duration(call.would_time_out_after_ns));
  return to;
}

// Which node a blocked context is in.
using KnownPlaces = std::map<std::pair<int, std::string>, std::size_t>;

KnownPlaces places_of(const sim::Report& report, const GroupedWaits& waits) {
  std::map<int, std::vector<std::size_t>> nodes_of_rank;
  for (std::size_t i = 0; i < waits.nodes.size(); ++i)
    if (waits.nodes[i].is_blocked())
      for (const int rank : waits.nodes[i].ranks) nodes_of_rank[rank].push_back(i);
  KnownPlaces places;
  for (const sim::BlockedCall& call : report.blocked)
    for (const std::size_t node : nodes_of_rank[call.rank])
      if (waits.nodes[node].group->first().context == call.context)
        places[{call.rank, call.context}] = node;
  return places;
}

// Whether a pending operation is the one that its context is blocked in.
bool is_blocked_in(const sim::Timeline& timeline, const sim::TimelineSlice& slice,
                   const sim::BlockedCall& blocked) {
  return slice.status == sim::SliceStatus::pending &&
         timeline.calls[slice.call].call.kind == blocked.call.kind &&
         (!blocked.call.sequence || blocked.call.sequence == slice.sequence_number);
}

class LaneWriter {
 public:
  LaneWriter(const RunResult& result, const GroupedWaits& waits)
      : report_(result.report), waits_(waits), places_(places_of(result.report, waits)) {
    for (const sim::Finding& finding : report_.findings)
      odd_.insert(finding.ranks.begin(), finding.ranks.end());
    // Where a finding names them all, none is odd.
    if (odd_.size() == static_cast<std::size_t>(result.world_size)) odd_.clear();
  }

  json to_page(const sim::TimelineLane& lane) const {
    const auto place = places_.find({lane.ranks.front(), lane.context});
    const bool is_blocked = place != places_.end();
    json slices = json::array();
    for (const sim::TimelineSlice& slice : lane.slices) {
      slices.push_back({{"call", slice.call},
                        {"gang", slice.gang},
                        {"sequence", slice.sequence_number},
                        {"steps", {slice.first_step, slice.last_step}},
                        {"ns", {slice.start.count(), slice.end.count()}},
                        {"status", to_string(slice.status)},
                        {"is_blocked",
                         is_blocked && is_blocked_in(report_.timeline, slice,
                                                     waits_.nodes[place->second].group->first())}});
    }
    return {{"ranks", ranges(lane.ranks)},
            {"short_ranks", short_ranges(lane.ranks)},
            {"count", lane.ranks.size()},
            {"ranges", ranges_of(lane.ranks)},
            {"context", lane.context},
            {"left_out", lane.left_out},
            {"end", to_string(lane.end)},
            {"is_odd", is_odd(lane)},
            {"node", is_blocked ? json(place->second) : json{}},
            {"slices", std::move(slices)}};
  }

  // Whether a finding names all of its ranks.
  bool is_odd(const sim::TimelineLane& lane) const {
    return std::ranges::all_of(lane.ranks, [this](int rank) { return odd_.contains(rank); });
  }

 private:
  const sim::Report& report_;
  const GroupedWaits& waits_;
  KnownPlaces places_;
  std::set<int> odd_;
};

json to_page(const sim::Report& report, std::size_t index) {
  const sim::FiredFault& fired = report.faults[index];
  const sim::Fault& planned = report.fault_plan->faults[fired.fault];
  const auto& steps = report.timeline.fault_steps;
  return {{"kind", to_string(planned.kind)},
          {"rank", fired.rank},
          {"description", fired.description},
          {"planned", to_string(planned)},
          {"count", fired.count},
          {"step", index < steps.size() ? steps[index] : 0},
          {"ns", fired.time.count()},
          {"time", gang::to_string(fired.time)}};
}

json timeline_to_page(const RunResult& result, const GroupedWaits& waits) {
  const sim::Timeline& timeline = result.report.timeline;
  if (timeline.empty()) return nullptr;
  json calls = json::array();
  for (const sim::TimelineCall& call : timeline.calls)
    calls.push_back({{"operation", call.call.kind},
                     {"arguments", arguments_text(call.call)},
                     {"at", to_string(call.location)},
                     {"is_message", sim::is_message(call)}});
  std::vector<std::string> names;
  json gangs = json::array();
  for (const GangLabel& gang : timeline.gangs) {
    gangs.push_back({{"label", to_string(gang)}, {"name", gang.name}});
    if (std::ranges::find(names, gang.name) == names.end()) names.push_back(gang.name);
  }
  const LaneWriter writer(result, waits);
  std::vector<const sim::TimelineLane*> order;
  for (const sim::TimelineLane& lane : timeline.lanes) order.push_back(&lane);
  // Of groups those that a finding names are looked at first.
  const bool is_grouped =
      std::ranges::any_of(order, [](const auto* lane) { return lane->ranks.size() > 1; });
  if (is_grouped)
    std::ranges::stable_partition(order,
                                  [&writer](const auto* lane) { return writer.is_odd(*lane); });
  json lanes = json::array();
  for (const sim::TimelineLane* lane : order) lanes.push_back(writer.to_page(*lane));
  return {{"gangs", std::move(gangs)},
          {"names", std::move(names)},
          {"calls", std::move(calls)},
          {"lanes", std::move(lanes)},
          {"lanes_left_out", timeline.lanes_left_out},
          {"has_time", timeline.end.count() > 0}};
}

json handled_to_page(const std::vector<sim::Finding>& handled) {
  json errors = json::array();
  for (std::size_t i = 0; i < std::min(handled.size(), most_handled); ++i)
    errors.push_back({{"id", handled[i].id},
                      {"message", sim::full_message(handled[i])},
                      {"location", to_string(handled[i].location)}});
  return errors;
}

json advice_of(const RunResult& result) {
  const sim::Report& report = result.report;
  json advice = json::array();
  const auto add = [&advice](std::string_view name, std::string_view text) {
    if (!text.empty()) advice.push_back({name, text});
  };
  if (!report.findings.empty()) add("Fix", sim::fix_for(report.findings.front()));
  if (const sim::Certainty* certainty = sim::certainty_of(report))
    add("Certainty", to_string(*certainty, report.faults));
  const auto& faults = report.faults;
  for (std::size_t i = 0; i < std::min(faults.size(), few_faults); ++i)
    add(i == 0 ? "Faults" : "", faults[i].description);
  if (faults.size() > few_faults) add("", fmt::format("and {} more", faults.size() - few_faults));
  for (const sim::BlockedCall& call : report.blocked) {
    if (call.would_time_out_after_ns == 0) continue;
    add("Timeout", "would fail after " + gang::to_string(Duration(call.would_time_out_after_ns)));
    break;
  }
  add("Suspect", to_string(report.crossed_calls));
  add("Leaks", to_string(report.left_behind));
  for (const Advice& each : advice_on(result.real_time)) add(each.kind, each.text);
  add("Decisive", decisive_text(result));
  add("Contested", contested_text(result));
  add("Reproduce", result.reproduce);
  add("Unexpected", result.unexpected);
  return advice;
}

// Null where nothing is known to decide.
json to_page(const std::optional<DecisiveChoice>& decisive) {
  if (!decisive) return nullptr;
  json page = to_json(*decisive);
  page["consequence"] = otherwise_text(*decisive);
  return page;
}

json facts_of(const RunResult& result) {
  const sim::Report& report = result.report;
  json facts = json::array();
  const auto add = [&facts](const char* name, std::string value) {
    facts.push_back({name, std::move(value)});
  };
  add("Program", result.specification.program);
  if (result.world_size != 0) add("Ranks", std::to_string(result.world_size));
  add("Gangs", std::to_string(report.counts.gangs));
  add("Operations", std::to_string(report.counts.rank_operations));
  add("Backend", std::string(to_string(result.specification.backend)));
  add("Contexts", std::string(to_string(result.specification.options.context)));
  add("Schedule", std::string(to_string(result.specification.schedule)));
  add("Execution", std::string(to_string(result.specification.options.execution)));
  add("Sends", to_string(result.specification.options.sends));
  add("Seed", std::to_string(result.specification.options.seed));
  add("Virtual time", gang::to_string(report.virtual_time));
  add("Trace digest", to_hex(report.trace.digest));
  add("Result digest", to_hex(result.outputs.digest));
  return facts;
}

// The verdict, and what follows it.
std::pair<std::string, std::string> verdict_of(const RunResult& result) {
  const sim::Report& report = result.report;
  if (!report.findings.empty())
    return {report.findings.front().message, report.findings.front().detail};
  if (!report.divergence.empty()) return {report.divergence, ""};
  if (report.outcome == sim::Outcome::completed)
    return {fmt::format("Completed: every rank{} returned; nothing is blocked{}.",
                        report.faults.empty() ? "" : " that the faults left",
                        report.left_behind.empty() ? ", nothing was left behind" : ""),
            ""};
  return {fmt::format("The run ended as {}.", to_string(report.outcome)), ""};
}

}  // namespace

json make_page_data(const RunResult& result, const std::optional<DecisiveChoice>& decisive) {
  const sim::Report& report = result.report;
  const GroupedWaits waits = group_waits(report);
  json nodes = json::array();
  for (const WaitNode& node : waits.nodes) nodes.push_back(to_page(node));
  json edges = json::array();
  for (const WaitEdge& edge : waits.edges) edges.push_back({edge.from, edge.to});
  json findings = json::array();
  for (const sim::Finding& finding : report.findings)
    findings.push_back(to_page(finding, report.faults));
  const std::size_t kept_faults = std::min(report.faults.size(), most_faults);
  json faults = json::array();
  for (std::size_t i = 0; i < kept_faults; ++i) faults.push_back(to_page(report, i));
  const auto [verdict, more] = verdict_of(result);
  const std::string& program = result.specification.program;
  return {
      {"outcome", to_string(report.outcome)},
      {"holds", result.holds()},
      {"id", report.findings.empty() ? "" : report.findings.front().id},
      {"program", program.substr(program.rfind('/') + 1)},
      {"world", result.world_size},
      {"seed", result.specification.options.seed},
      {"verdict", verdict},
      {"more", more},
      {"advice", advice_of(result)},
      {"decisive", to_page(decisive)},
      {"findings", std::move(findings)},
      {"handled", handled_to_page(report.handled)},
      {"handled_left_out", report.handled.size() - std::min(report.handled.size(), most_handled)},
      {"faults", std::move(faults)},
      {"faults_left_out", report.faults.size() - kept_faults},
      {"nodes", std::move(nodes)},
      {"edges", std::move(edges)},
      {"timeline", timeline_to_page(result, waits)},
      {"facts", facts_of(result)}};
}

}  // namespace gang::harness
