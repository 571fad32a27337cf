#include "harness/run/schedule_file.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/program/digest.h"
#include "harness/run/run_file.h"
#include "harness/run/schedule_shrinking.h"
#include "harness/text/number_text.h"
#include "harness/text/output_file.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::field;

constexpr std::string_view format_name = "gangsim schedule";

std::vector<std::string> first_events(const sim::Trace& trace) {
  sim::Trace head{.gangs = trace.gangs};
  const std::size_t count = std::min(trace.events.size(), most_saved_events);
  const auto kept = std::span{trace.events}.first(count);
  head.events.assign(kept.begin(), kept.end());
  const std::string text = to_string(head);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

json to_json(const std::vector<sim::Detour>& detours) {
  json list = json::array();
  for (const auto& [after, take] : detours)
    list.push_back({{"after",
                     {{"context", after.context},
                      {"did", after.did},
                      {"number", after.number},
                      {"place", after.place}}},
                    {"take", take}});
  return list;
}

std::vector<sim::Detour> detours_from_json(const json& list) {
  std::vector<sim::Detour> detours;
  for (const json& from : list) {
    const json& after = sim::object_field(from, "after");
    detours.push_back({.after = {.context = field<std::string>(after, "context"),
                                 .did = field<std::string>(after, "did"),
                                 .number = field<std::uint64_t>(after, "number"),
                                 .place = field<std::string>(after, "place")},
                       .take = field<std::string>(from, "take")});
  }
  return detours;
}

std::uint64_t hex_field(const json& from, const char* name) {
  const auto text = field<std::string>(from, name);
  if (const auto value = parse_hex(text)) return *value;
  throw InvalidArgument(
      fmt::format("field {}: expected a hexadecimal number, found '{}'", name, text));
}

void check_schedule_format(const json& from) {
  if (!from.is_object() || from.value("format", json{}) != format_name)
    throw InvalidArgument("is not a schedule file: field format is not \"gangsim schedule\"");
  const json version = from.value("version", json{});
  if (version != SavedSchedule::format_version)
    throw InvalidArgument(fmt::format("field version is {}; must be {}", version.dump(),
                                      SavedSchedule::format_version));
}

// What to add if another program explains the difference.
std::string blame(const SavedSchedule& saved, const Program& program) {
  if (saved.program_fingerprint == fingerprint(program)) return "";
  return fmt::format("; the schedule is from another program or version than {}", program.name);
}

}  // namespace

SavedSchedule make_saved_schedule(const Program& program, const RunResult& result) {
  return {.specification = result.specification,
          .program_fingerprint = fingerprint(program),
          .schedule = result.report.schedule,
          .trace_digest = result.report.trace.digest,
          .result_digest = result.outputs.digest,
          .events = first_events(result.report.trace)};
}

std::string to_text(const SavedSchedule& saved) {
  json object = {{"format", format_name},
                 {"version", SavedSchedule::format_version},
                 {"specification", to_json(saved.specification)},
                 {"program_fingerprint", to_hex(saved.program_fingerprint)},
                 {"schedule", sim::to_string(saved.schedule)},
                 {"trace_digest", to_hex(saved.trace_digest)},
                 {"result_digest", to_hex(saved.result_digest)},
                 {"events", saved.events}};
  if (saved.detours) object["detours"] = to_json(*saved.detours);
  return object.dump(1) + "\n";
}

SavedSchedule saved_schedule_from_text(std::string_view text) {
  const json from = parse_json(text);
  check_schedule_format(from);
  SavedSchedule saved;
  saved.specification = run_specification_from_json(field<json>(from, "specification"));
  saved.program_fingerprint = hex_field(from, "program_fingerprint");
  saved.schedule = sim::parse_schedule(field<std::string>(from, "schedule"));
  saved.trace_digest = hex_field(from, "trace_digest");
  saved.result_digest = hex_field(from, "result_digest");
  saved.events = field<std::vector<std::string>>(from, "events");
  if (from.contains("detours"))
    saved.detours = detours_from_json(sim::array_field(from, "detours"));
  return saved;
}

SavedSchedule read_schedule_file(const std::string& path) {
  const std::string text = read_file("schedule file", path);
  try {
    return saved_schedule_from_text(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("schedule file {}: {}", path, error.what()));
  }
}

std::optional<std::string> first_divergence(const SavedSchedule& saved, const Program& program,
                                            const RunResult& result) {
  const std::vector<std::string> events = first_events(result.report.trace);
  const auto [was, is] = std::ranges::mismatch(saved.events, events);
  if (was != saved.events.end() || is != events.end())
    return fmt::format("event {} is '{}', but '{}' was recorded{}", was - saved.events.begin(),
                       is == events.end() ? "none" : *is, was == saved.events.end() ? "none" : *was,
                       blame(saved, program));
  if (result.report.outcome == sim::Outcome::diverged)
    return result.report.divergence + blame(saved, program);
  if (saved.trace_digest != result.report.trace.digest)
    return fmt::format("the trace differs after event {}{}", events.size(), blame(saved, program));
  if (saved.result_digest != result.outputs.digest)
    return fmt::format("the digest of the ranks' outputs is {}, but {} was recorded{}",
                       to_hex(result.outputs.digest), to_hex(saved.result_digest),
                       blame(saved, program));
  return std::nullopt;
}

ReplayedRun replay_saved(const SavedSchedule& saved, const Program& program,
                         const RunRecording& recording, std::string_view binary) {
  ReplayedRun replayed{.result =
                           replay(program, saved.specification, saved.schedule, recording, binary)};
  const auto divergence = first_divergence(saved, program, replayed.result);
  if (!divergence) return replayed;
  if (!saved.detours) throw InvalidArgument(*divergence);
  RunWithDetours with_detours =
      run_with_detours(program, saved.specification, *saved.detours, recording, binary);
  if (!with_detours.left.empty())
    throw InvalidArgument(fmt::format("{}; the choice '{}' is not met either", *divergence,
                                      sim::to_string(with_detours.left.front())));
  replayed.result = std::move(with_detours.result);
  replayed.change = *divergence;
  return replayed;
}

}  // namespace gang::harness
