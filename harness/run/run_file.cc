#include "harness/run/run_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/program/digest.h"
#include "harness/text/output_file.h"
#include "sim/report/call_group.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::BlockedCall;
using sim::field;

constexpr int deepest_broken = 3;  // levels that may have lines of their own
constexpr std::size_t longest_line = 300;
constexpr int deepest_json = 100;  // what writes a value, if only in an error, recurses

// Blocked contexts in the same call share an entry.
json fold(const std::vector<BlockedCall>& blocked) {
  std::vector<const BlockedCall*> calls;
  for (const BlockedCall& call : blocked) calls.push_back(&call);
  json folded = json::array();
  for (const sim::CallGroup& group : sim::group_calls(calls, sim::CallSharing::all_but_rank)) {
    BlockedCall first = group.first();
    for (const BlockedCall* call : group.calls)
      if (first.call_stack.empty()) first.call_stack = call->call_stack;
    json& entry = folded.emplace_back(sim::to_json(first));
    if (group.calls.size() > 1) entry["ranks"] = group.ranks();
  }
  return folded;
}

json blocked_to_json(const std::vector<BlockedCall>& blocked) {
  if (blocked.size() > most_single_blocked) return fold(blocked);
  return sim::array_of<BlockedCall>(blocked, sim::to_json);
}

// Every blocked context for itself, by rank.
std::vector<BlockedCall> blocked_from_json(const json& from) {
  std::vector<BlockedCall> blocked;
  sim::read_elements(from, "blocked", [&blocked](const json& entry) {
    blocked.push_back(sim::blocked_call_from_json(entry));
    if (!entry.contains("ranks")) return;
    const auto ranks = field<std::vector<int>>(entry, "ranks");
    if (ranks.empty() || ranks.front() != blocked.back().rank)
      throw InvalidArgument("field ranks does not begin with rank");
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      blocked.push_back(blocked.back());
      blocked.back().rank = ranks[i];
      blocked.back().call_stack.clear();  // One is kept for all of them.
    }
  });
  std::ranges::stable_sort(blocked, {}, &BlockedCall::rank);
  return blocked;
}

sim::Report report_from_json(const json& from) {
  json rest = from;
  rest.erase("timeline");
  rest["blocked"] = json::array();
  sim::Report report = sim::report_from_json(rest);
  report.blocked = blocked_from_json(from);
  if (!from.contains("timeline")) return report;
  try {
    report.timeline = sim::timeline_from_json(sim::object_field(from, "timeline"));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("field timeline: {}", error.what()));
  }
  return report;
}

// Text that is not UTF-8 (of an exception, say) must not keep the file from being written.
std::string one_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Lines that people can read and tools can compare: a short or deep value on one.
void print(const json& value, int depth, std::string& text) {
  if (!value.is_structured() || depth >= deepest_broken) {
    text += one_line(value);
    return;
  }
  if (depth > 0) {
    if (std::string line = one_line(value); line.size() <= longest_line) {
      text += line;
      return;
    }
  }
  const std::string indent(static_cast<std::size_t>(depth + 1) * 2, ' ');
  const bool is_object = value.is_object();
  text += is_object ? "{" : "[";
  bool is_first = true;
  for (const auto& [key, element] : value.items()) {
    text += is_first ? "\n" : ",\n";
    is_first = false;
    text += indent;
    if (is_object) text += one_line(key) + ": ";
    print(element, depth + 1, text);
  }
  text += "\n" + indent.substr(2) + (is_object ? "}" : "]");
}

int check_format(const json& from) {
  if (!is_saved_run(from))
    throw InvalidArgument(fmt::format(
        "is not a saved run: field format is {}; must be \"{}\", as run --json writes it",
        from.is_object() && from.contains("format") ? one_line(from["format"]) : "missing",
        run_file_format));
  const auto version = field<int>(from, "version");
  if (version < 1 || version > run_file_version)
    throw InvalidArgument(
        fmt::format("field version is {}; must be 1 to {}", version, run_file_version));
  return version;
}

}  // namespace

json to_json(const RunResult& result) {
  const sim::Report& report = result.report;
  sim::Report rest = {};  // everything but what is written apart
  rest.outcome = report.outcome;
  rest.findings = report.findings;
  rest.handled = report.handled;
  rest.crossed_calls = report.crossed_calls;
  rest.left_behind = report.left_behind;
  rest.certainty = report.certainty;
  rest.divergence = report.divergence;
  rest.counts = report.counts;
  rest.trace.digest = report.trace.digest;
  rest.virtual_time = report.virtual_time;
  rest.wall_time = report.wall_time;
  rest.fault_plan = report.fault_plan;
  rest.faults = report.faults;
  json to = sim::to_json(rest);
  to["blocked"] = blocked_to_json(report.blocked);
  to["format"] = run_file_format;
  to["version"] = run_file_version;
  to["program"] = result.specification.program;
  to["world"] = result.world_size;
  to["backend"] = to_string(result.specification.backend);
  to["context"] = to_string(result.specification.options.context);
  to["seed"] = result.specification.options.seed;
  to["specification"] = to_json(result.specification);
  to["switches"] = report.counts.switches;
  to["gangs"] = report.counts.gangs;
  to["result_digest"] = to_hex(result.outputs.digest);
  to["reproduce"] = result.reproduce;
  if (result.is_in_every_schedule) to["is_in_every_schedule"] = true;
  if (result.contested_choices > 0) to["contested_choices"] = result.contested_choices;
  if (!result.explore.empty()) to["explore"] = result.explore;
  if (!result.choices.empty()) to["choices"] = result.choices;
  if (!result.decisive.empty()) to["decisive"] = result.decisive;
  if (json real_time = to_json(result.real_time); !real_time.empty())
    to["real_time"] = std::move(real_time);
  if (!result.unexpected.empty()) to["unexpected"] = result.unexpected;
  if (!report.timeline.empty()) to["timeline"] = sim::to_json(report.timeline);
  return to;
}

RunResult run_result_from_json(const json& saved) {
  const bool is_old = check_format(saved) == 1;
  const json upgraded = is_old ? upgraded_from_v1(saved) : json();
  const json& from = is_old ? upgraded : saved;
  RunResult result;
  result.report = report_from_json(from);
  result.specification = run_specification_from_json(sim::object_field(from, "specification"));
  result.world_size = field<int>(from, "world");
  result.outputs.digest = sim::digest_field(from, "result_digest");
  result.reproduce = field<std::string>(from, "reproduce");
  if (from.contains("is_in_every_schedule"))
    result.is_in_every_schedule = field<bool>(from, "is_in_every_schedule");
  if (from.contains("contested_choices"))
    result.contested_choices = field<std::uint64_t>(from, "contested_choices");
  if (from.contains("explore")) result.explore = field<std::string>(from, "explore");
  if (from.contains("choices")) result.choices = field<std::vector<std::string>>(from, "choices");
  if (from.contains("decisive")) result.decisive = field<std::string>(from, "decisive");
  if (from.contains("real_time"))
    result.real_time = real_time_from_json(sim::object_field(from, "real_time"));
  if (from.contains("unexpected")) result.unexpected = field<std::string>(from, "unexpected");
  return result;
}

bool is_saved_run(const json& from) {
  return from.is_object() && from.value("format", json{}) == run_file_format;
}

std::string to_json_text(const json& value) {
  std::string text;
  print(value, 0, text);
  return text + "\n";
}

json parse_json(std::string_view text) {
  std::string last_field;
  const auto remember = [&last_field](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::key) last_field = parsed.get<std::string>();
    const bool begins =
        event == json::parse_event_t::array_start || event == json::parse_event_t::object_start;
    if (begins && depth >= deepest_json)
      throw InvalidArgument(fmt::format("is nested more than {} levels deep", deepest_json));
    return true;
  };
  try {
    return json::parse(text, remember);
  } catch (const json::parse_error& error) {
    const std::string place =
        last_field.empty() ? "before any field" : fmt::format("in or after field {}", last_field);
    throw InvalidArgument(fmt::format("is {} at byte {} of {}, {}",
                                      error.byte > text.size() ? "cut off" : "not JSON",
                                      std::min(error.byte, text.size()), text.size(), place));
  } catch (const json::out_of_range&) {
    throw InvalidArgument(fmt::format("has a number that is too large{}",
                                      last_field.empty() ? "" : ", in field " + last_field));
  }
}

std::string to_file_text(const RunResult& result) { return to_json_text(to_json(result)); }

RunResult run_result_from_text(std::string_view text) {
  return run_result_from_json(parse_json(text));
}

RunResult read_run_file(const std::string& path) {
  const std::string text = read_file("run file", path);
  try {
    return run_result_from_text(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("run file {}: {}", path, error.what()));
  }
}

}  // namespace gang::harness
