// A report as JSON, and back.
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/faults/fault_plan.h"
#include "sim/report/report.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

using nlohmann::json;

constexpr std::array outcomes = {Outcome::completed, Outcome::deadlock, Outcome::failed,
                                 Outcome::step_limit, Outcome::diverged};

// Field `name` if it is there, else nothing. Throws InvalidArgument as `field` does.
template <typename T>
T field_or_empty(const json& from, const char* name) {
  return from.contains(name) ? field<T>(from, name) : T{};
}

// The elements of array `name`, each read by `read`.
template <typename T>
std::vector<T> elements(const json& from, const char* name, T (*read)(const json&)) {
  std::vector<T> values;
  read_elements(from, name,
                [&values, read](const json& element) { values.push_back(read(element)); });
  return values;
}

template <typename T>
json array_of(const std::vector<T>& values, json (*write)(const T&)) {
  json array = json::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

json counts_to_json(const Counts& counts) {
  return {{"rank_operations", counts.rank_operations},
          {"completed_operations", counts.completed_operations},
          {"switches", counts.switches},
          {"choices", counts.choices},
          {"gangs", counts.gangs}};
}

Counts counts_from_json(const json& from) {
  if (!from.is_object())
    throw InvalidArgument(
        fmt::format("field counts has the wrong type: found is {}", from.type_name()));
  return {.rank_operations = field<std::uint64_t>(from, "rank_operations"),
          .completed_operations = field<std::uint64_t>(from, "completed_operations"),
          .switches = field<std::uint64_t>(from, "switches"),
          .choices = field<std::uint64_t>(from, "choices"),
          .gangs = field<std::uint64_t>(from, "gangs")};
}

json call_to_json(const CallSummary& call) {
  return {{"ranks", call.ranks},
          {"gang", call.gang},
          {"operation", call.operation},
          {"location", call.location},
          {"note", call.note}};
}

CallSummary call_from_json(const json& from) {
  return {.ranks = field<std::vector<int>>(from, "ranks"),
          .gang = field<std::string>(from, "gang"),
          .operation = field<std::string>(from, "operation"),
          .location = field<std::string>(from, "location"),
          .note = field<std::string>(from, "note")};
}

json divergence_to_json(const Divergence& divergence) {
  return {{"last_common", call_to_json(divergence.last_common)},
          {"next", array_of(divergence.next, call_to_json)}};
}

Divergence divergence_from_json(const json& from) {
  return {.last_common = call_from_json(field<json>(from, "last_common")),
          .next = elements(from, "next", call_from_json)};
}

json near_miss_to_json(const NearMiss& miss) {
  return {{"first", call_to_json(miss.first)},
          {"second", call_to_json(miss.second)},
          {"field", miss.field}};
}

NearMiss near_miss_from_json(const json& from) {
  return {.first = call_from_json(field<json>(from, "first")),
          .second = call_from_json(field<json>(from, "second")),
          .field = field<std::string>(from, "field")};
}

Outcome outcome_from_json(const json& from) {
  const auto text = field<std::string>(from, "outcome");
  if (const std::optional<Outcome> outcome = parse_outcome(text)) return *outcome;
  throw InvalidArgument(fmt::format(
      "field outcome is '{}'; accepted are completed, deadlock, failed, step_limit and diverged",
      text));
}

std::uint64_t digest_from_json(const json& from) {
  const auto text = field<std::string>(from, "trace_digest");
  std::uint64_t digest = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digest, 16);
  if (text.empty() || error != std::errc{} || stop != end)
    throw InvalidArgument(
        fmt::format("field trace_digest is '{}'; a hexadecimal number is accepted", text));
  return digest;
}

}  // namespace

std::optional<Outcome> parse_outcome(std::string_view text) noexcept {
  for (const Outcome outcome : outcomes)
    if (to_string(outcome) == text) return outcome;
  return std::nullopt;
}

json to_json(const Finding& finding) {
  json to = {{"id", finding.id},
             {"ranks", finding.ranks},
             {"gang", finding.gang},
             {"operation", finding.operation},
             {"message", finding.message},
             {"location", finding.location},
             {"consequences", finding.consequences},
             {"fix", fix_for(finding.id)}};
  if (finding.divergence) to["divergence"] = divergence_to_json(*finding.divergence);
  if (!finding.near_misses.empty())
    to["near_misses"] = array_of(finding.near_misses, near_miss_to_json);
  if (!finding.certainty.empty()) to["certainty"] = finding.certainty;
  return to;
}

json to_json(const BlockedCall& blocked) {
  json call = {{"rank", blocked.rank},
               {"context", blocked.context},
               {"gang", blocked.gang},
               {"operation", blocked.operation},
               {"location", blocked.location},
               {"waits_for", blocked.waits_for},
               {"waits_for_count", blocked.waits_for_count},
               {"waits_for_any", blocked.waits_for_any},
               {"would_time_out_after_ns", blocked.would_time_out_after_ns},
               {"is_core", blocked.is_core}};
  if (!blocked.behind.empty()) call["behind"] = blocked.behind;
  if (!blocked.behind_location.empty()) call["behind_location"] = blocked.behind_location;
  if (!blocked.call_stack.empty()) call["call_stack"] = blocked.call_stack;
  return call;
}

json fired_to_json(const FiredFault& fault) {
  return {{"fault", fault.fault},
          {"rank", fault.rank},
          {"count", fault.count},
          {"time_ns", fault.time.count()},
          {"description", fault.description}};
}

FiredFault fired_from_json(const json& from) {
  return {.fault = field<std::size_t>(from, "fault"),
          .rank = field<int>(from, "rank"),
          .count = field<std::uint64_t>(from, "count"),
          .time = Duration(field<std::int64_t>(from, "time_ns")),
          .description = field<std::string>(from, "description")};
}

json to_json(const Report& report) {
  json to = {{"outcome", to_string(report.outcome)},
             {"findings", array_of<Finding>(report.findings, to_json)},
             {"blocked", array_of<BlockedCall>(report.blocked, to_json)},
             {"certainty", report.certainty},
             {"divergence", report.divergence},
             {"counts", counts_to_json(report.counts)},
             {"rank_operations", report.counts.rank_operations},
             {"virtual_time_ns", report.virtual_time.count()},
             {"wall_time_ns", report.wall_time.count()},
             {"trace_digest", fmt::format("{:016x}", report.trace.digest)}};
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
  finding.gang = field<std::string>(from, "gang");
  finding.operation = field<std::string>(from, "operation");
  finding.message = field<std::string>(from, "message");
  finding.location = field<std::string>(from, "location");
  finding.consequences = field<std::vector<std::string>>(from, "consequences");
  if (from.contains("divergence"))
    finding.divergence = divergence_from_json(field<json>(from, "divergence"));
  if (from.contains("near_misses"))
    finding.near_misses = elements(from, "near_misses", near_miss_from_json);
  finding.certainty = field_or_empty<std::string>(from, "certainty");
  return finding;
}

BlockedCall blocked_call_from_json(const json& from) {
  BlockedCall call;
  call.rank = field<int>(from, "rank");
  call.context = field<std::string>(from, "context");
  call.gang = field<std::string>(from, "gang");
  call.operation = field<std::string>(from, "operation");
  call.location = field<std::string>(from, "location");
  call.waits_for = field<std::vector<int>>(from, "waits_for");
  call.waits_for_count = field<std::uint64_t>(from, "waits_for_count");
  call.waits_for_any = field<bool>(from, "waits_for_any");
  call.would_time_out_after_ns = field<std::uint64_t>(from, "would_time_out_after_ns");
  call.is_core = field<bool>(from, "is_core");
  call.behind = field_or_empty<std::string>(from, "behind");
  call.behind_location = field_or_empty<std::string>(from, "behind_location");
  if (from.contains("call_stack"))
    call.call_stack = field<std::vector<std::string>>(from, "call_stack");
  return call;
}

Report report_from_json(const json& from) {
  Report report;
  report.outcome = outcome_from_json(from);
  report.findings = elements(from, "findings", finding_from_json);
  report.blocked = elements(from, "blocked", blocked_call_from_json);
  report.certainty = field<std::string>(from, "certainty");
  report.divergence = field<std::string>(from, "divergence");
  report.counts = counts_from_json(field<json>(from, "counts"));
  report.virtual_time = Duration(field<std::int64_t>(from, "virtual_time_ns"));
  report.wall_time = Duration(field<std::int64_t>(from, "wall_time_ns"));
  report.trace.digest = digest_from_json(from);
  if (from.contains("fault_plan")) {
    report.fault_plan = std::make_shared<const FaultPlan>(fault_plan_from_json(from["fault_plan"]));
    report.faults = elements(from, "faults", fired_from_json);
    const std::size_t planned = report.fault_plan->faults.size();
    for (const FiredFault& fired : report.faults)
      if (fired.fault >= planned)
        throw InvalidArgument(
            fmt::format("field fault is {}; it must be less than {}", fired.fault, planned));
  }
  return report;
}

}  // namespace gang::sim
