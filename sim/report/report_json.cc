#include "sim/report/report_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/faults/fault_plan_json.h"
#include "sim/report/call_json.h"
#include "sim/report/fix.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

using nlohmann::json;

json counts_to_json(const Counts& counts) {
  return {{"rank_operations", counts.rank_operations},
          {"completed_operations", counts.completed_operations},
          {"switches", counts.switches},
          {"choices", counts.choices},
          {"gangs", counts.gangs}};
}

Counts counts_from_json(const json& from) {
  return {.rank_operations = field<std::uint64_t>(from, "rank_operations"),
          .completed_operations = field<std::uint64_t>(from, "completed_operations"),
          .switches = field<std::uint64_t>(from, "switches"),
          .choices = field<std::uint64_t>(from, "choices"),
          .gangs = field<std::uint64_t>(from, "gangs")};
}

json call_to_json(const CallSummary& call) {
  json to = {{"ranks", call.ranks},
             {"gang", to_json(call.gang)},
             {"call", to_json(call.call)},
             {"operation", to_string(call.call)}};
  if (!call.note.empty()) to["note"] = call.note;
  add_location(to, call.location);
  return to;
}

CallSummary call_from_json(const json& from) {
  return {.ranks = field<std::vector<int>>(from, "ranks"),
          .gang = gang_label_from_json(object_field(from, "gang")),
          .call = call_text_from_json(object_field(from, "call")),
          .location = location_field(from),
          .note = optional_field<std::string>(from, "note").value_or("")};
}

json divergence_to_json(const Divergence& divergence) {
  json to = {{"last_common", call_to_json(divergence.last_common)},
             {"next", array_of(divergence.next, call_to_json)}};
  if (!divergence.parted.empty()) to["parted"] = array_of(divergence.parted, call_to_json);
  return to;
}

Divergence divergence_from_json(const json& from) {
  return {.parted = from.contains("parted") ? elements_field(from, "parted", call_from_json)
                                            : std::vector<CallSummary>(),
          .last_common = call_from_json(object_field(from, "last_common")),
          .next = elements_field(from, "next", call_from_json)};
}

json near_miss_to_json(const NearMiss& miss) {
  return {{"first", call_to_json(miss.first)},
          {"second", call_to_json(miss.second)},
          {"field", miss.field}};
}

NearMiss near_miss_from_json(const json& from) {
  return {.first = call_from_json(object_field(from, "first")),
          .second = call_from_json(object_field(from, "second")),
          .field = field<std::string>(from, "field")};
}

json crossed_to_json(const CrossedCalls& crossed) {
  return {{"most", call_to_json(crossed.most)},
          {"others", call_to_json(crossed.others)},
          {"second", crossed.second}};
}

CrossedCalls crossed_from_json(const json& from) {
  return {.most = call_from_json(object_field(from, "most")),
          .others = call_from_json(object_field(from, "others")),
          .second = field<std::uint64_t>(from, "second")};
}

json frame_to_json(const SourceLocation& frame) { return frame_text(frame); }

QueuedBehind behind_from_json(const json& from) {
  return {.gang = gang_label_from_json(object_field(from, "gang")),
          .call = call_text_from_json(object_field(from, "call")),
          .location = location_field(from)};
}

}  // namespace

json to_json(const Finding& finding, const std::vector<FiredFault>& faults) {
  json to = {{"id", finding.id},
             {"ranks", finding.ranks},
             {"gang", to_json(finding.gang)},
             {"call", to_json(finding.call)},
             {"operation", to_string(finding.call)},
             {"message", finding.message},
             {"detail", finding.detail},
             {"consequences", finding.consequences},
             {"fix", fix_for(finding)}};
  add_location(to, finding.location);
  if (finding.divergence) to["divergence"] = divergence_to_json(*finding.divergence);
  if (!finding.near_misses.empty())
    to["near_misses"] = array_of(finding.near_misses, near_miss_to_json);
  if (finding.certainty) to["certainty"] = to_json(*finding.certainty, faults);
  return to;
}

json to_json(const BlockedCall& blocked) {
  json call = {{"rank", blocked.rank},
               {"gang", to_json(blocked.gang)},
               {"call", to_json(blocked.call)},
               {"operation", to_string(blocked.call)},
               {"waits_for", blocked.waits_for},
               {"would_time_out_after_ns", blocked.would_time_out_after_ns},
               {"is_core", blocked.is_core}};
  if (!blocked.context.empty()) call["context"] = blocked.context;
  if (blocked.waits_for_count != blocked.waits_for.size())  // not all are listed
    call["waits_for_count"] = blocked.waits_for_count;
  if (blocked.waits_for_any) call["waits_for_any"] = true;
  add_location(call, blocked.location);
  if (blocked.behind) {
    call["behind"] = {{"gang", to_json(blocked.behind->gang)},
                      {"call", to_json(blocked.behind->call)},
                      {"operation", to_string(blocked.behind->call)}};
    add_location(call["behind"], blocked.behind->location);
  }
  if (!blocked.call_stack.empty()) {
    call["call_stack"] = array_of(blocked.call_stack, frame_to_json);
    call["call_frames"] = array_of<SourceLocation>(blocked.call_stack, to_json);
  }
  return call;
}

json fired_to_json(const FiredFault& fault) {
  json to = {{"fault", fault.fault},
             {"rank", fault.rank},
             {"count", fault.count},
             {"time_ns", fault.time.count()},
             {"description", fault.description},
             {"place", fault.place}};
  if (!fault.witnesses.empty()) to["witnesses"] = fault.witnesses;
  return to;
}

FiredFault fired_from_json(const json& from) {
  return {.fault = field<std::size_t>(from, "fault"),
          .rank = field<int>(from, "rank"),
          .count = field<std::uint64_t>(from, "count"),
          .time = Duration(field<std::int64_t>(from, "time_ns")),
          .description = field<std::string>(from, "description"),
          .place = from.value("place", ""),
          .witnesses = from.value("witnesses", std::vector<int>{})};
}

json to_json(const Report& report) {
  json findings = json::array();
  for (const Finding& finding : report.findings)
    findings.push_back(to_json(finding, report.faults));
  json to = {{"outcome", to_string(report.outcome)},
             {"findings", std::move(findings)},
             {"blocked", array_of<BlockedCall>(report.blocked, to_json)},
             {"divergence", report.divergence},
             {"counts", counts_to_json(report.counts)},
             {"rank_operations", report.counts.rank_operations},
             {"virtual_time_ns", report.virtual_time.count()},
             {"wall_time_ns", report.wall_time.count()},
             {"trace_digest", fmt::format("{:016x}", report.trace.digest)}};
  if (report.certainty) to["certainty"] = to_json(*report.certainty, report.faults);
  if (!report.handled.empty()) {
    to["handled"] = json::array();
    for (const Finding& finding : report.handled)
      to["handled"].push_back(to_json(finding, report.faults));
  }
  if (!report.crossed_calls.empty())
    to["crossed_calls"] = array_of(report.crossed_calls, crossed_to_json);
  if (!report.left_behind.empty())
    to["left_behind"] = array_of<LeftBehind>(report.left_behind, to_json);
  if (report.fault_plan) {
    to["fault_plan"] = to_json(*report.fault_plan);
    to["faults"] = array_of<FiredFault>(report.faults, fired_to_json);
  }
  return to;
}

Finding finding_from_json(const json& from) {
  Finding finding;
  finding.id = field<std::string>(from, "id");
  finding.ranks = field<std::vector<int>>(from, "ranks");
  finding.gang = gang_label_from_json(object_field(from, "gang"));
  finding.call = call_text_from_json(object_field(from, "call"));
  finding.message = field<std::string>(from, "message");
  finding.detail = field<std::string>(from, "detail");
  finding.location = location_field(from);
  finding.consequences = field<std::vector<std::string>>(from, "consequences");
  if (from.contains("divergence"))
    finding.divergence = divergence_from_json(object_field(from, "divergence"));
  if (from.contains("near_misses"))
    finding.near_misses = elements_field(from, "near_misses", near_miss_from_json);
  if (from.contains("certainty"))
    finding.certainty = certainty_from_json(object_field(from, "certainty"));
  return finding;
}

BlockedCall blocked_call_from_json(const json& from) {
  BlockedCall call;
  call.rank = field<int>(from, "rank");
  call.context = optional_field<std::string>(from, "context").value_or("");
  call.gang = gang_label_from_json(object_field(from, "gang"));
  call.call = call_text_from_json(object_field(from, "call"));
  call.location = location_field(from);
  call.waits_for = field<std::vector<int>>(from, "waits_for");
  call.waits_for_count =
      optional_field<std::uint64_t>(from, "waits_for_count").value_or(call.waits_for.size());
  call.waits_for_any = optional_field<bool>(from, "waits_for_any").value_or(false);
  call.would_time_out_after_ns = field<std::uint64_t>(from, "would_time_out_after_ns");
  call.is_core = field<bool>(from, "is_core");
  if (from.contains("behind")) call.behind = behind_from_json(object_field(from, "behind"));
  if (from.contains("call_frames"))
    call.call_stack = elements_field(from, "call_frames", source_location_from_json);
  else if (from.contains("call_stack"))  // of an older file
    for (std::string& text : field<std::vector<std::string>>(from, "call_stack"))
      call.call_stack.push_back({.function = std::move(text)});
  return call;
}

Report report_from_json(const json& from) {
  Report report;
  report.outcome = enum_field(from, "outcome", outcome_names);
  report.findings = elements_field(from, "findings", finding_from_json);
  report.blocked = elements_field(from, "blocked", blocked_call_from_json);
  if (from.contains("certainty"))
    report.certainty = certainty_from_json(object_field(from, "certainty"));
  report.divergence = field<std::string>(from, "divergence");
  report.counts = counts_from_json(object_field(from, "counts"));
  report.virtual_time = Duration(field<std::int64_t>(from, "virtual_time_ns"));
  report.wall_time = Duration(field<std::int64_t>(from, "wall_time_ns"));
  report.trace.digest = digest_field(from, "trace_digest");
  if (from.contains("handled")) report.handled = elements_field(from, "handled", finding_from_json);
  if (from.contains("crossed_calls"))
    report.crossed_calls = elements_field(from, "crossed_calls", crossed_from_json);
  if (from.contains("left_behind"))
    report.left_behind = elements_field(from, "left_behind", left_behind_from_json);
  if (from.contains("fault_plan")) {
    report.fault_plan = std::make_shared<const FaultPlan>(fault_plan_from_json(from["fault_plan"]));
    report.faults = elements_field(from, "faults", fired_from_json);
    const std::size_t planned = report.fault_plan->faults.size();
    for (const FiredFault& fired : report.faults)
      if (fired.fault >= planned)
        throw InvalidArgument(
            fmt::format("field fault is {}; must be less than {}", fired.fault, planned));
  }
  return report;
}

}  // namespace gang::sim
