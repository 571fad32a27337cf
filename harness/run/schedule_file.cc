#include "harness/run/schedule_file.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/program/digest.h"

namespace gang::harness {
namespace {

using nlohmann::json;

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

const json& field(const json& from, const char* name, json::value_t type) {
  const auto found = from.find(name);
  const bool is_there = found != from.end() && found->type() == type;
  if (!is_there) throw InvalidArgument(fmt::format("field '{}' is missing or malformed", name));
  return *found;
}

std::uint64_t hex_field(const json& from, const char* name) {
  const auto text = field(from, name, json::value_t::string).get<std::string>();
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || stop != end) {
    throw InvalidArgument(fmt::format("field '{}' is no hexadecimal number", name));
  }
  return value;
}

void check_format(const json& from) {
  if (!from.is_object() || from.value("format", json{}) != format_name) {
    throw InvalidArgument("is no schedule file: field 'format' is not \"gangsim schedule\"");
  }
  const json version = from.value("version", json{});
  if (version != SavedSchedule::format_version) {
    throw InvalidArgument(fmt::format("is of format version {}; accepted: {}", version.dump(),
                                      SavedSchedule::format_version));
  }
}

// What to add where another program explains the difference.
std::string blame(const SavedSchedule& saved, const Program& program) {
  if (saved.program_fingerprint == fingerprint(program)) return "";
  return fmt::format("; the schedule is of another program or version than {}", program.name);
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
  const json object = {{"format", format_name},
                       {"version", SavedSchedule::format_version},
                       {"specification", to_json(saved.specification)},
                       {"program_fingerprint", to_hex(saved.program_fingerprint)},
                       {"schedule", sim::to_string(saved.schedule)},
                       {"trace_digest", to_hex(saved.trace_digest)},
                       {"result_digest", to_hex(saved.result_digest)},
                       {"events", saved.events}};
  return object.dump(1) + "\n";
}

SavedSchedule saved_schedule_from_text(std::string_view text) {
  const json from = json::parse(text, nullptr, false);
  if (from.is_discarded()) throw InvalidArgument("is no schedule file: it is not JSON");
  check_format(from);
  SavedSchedule saved;
  saved.specification =
      run_specification_from_json(field(from, "specification", json::value_t::object));
  saved.program_fingerprint = hex_field(from, "program_fingerprint");
  saved.schedule =
      sim::parse_schedule(field(from, "schedule", json::value_t::string).get<std::string>());
  saved.trace_digest = hex_field(from, "trace_digest");
  saved.result_digest = hex_field(from, "result_digest");
  for (const json& event : field(from, "events", json::value_t::array)) {
    if (!event.is_string()) throw InvalidArgument("field 'events' holds something else than texts");
    saved.events.push_back(event.get<std::string>());
  }
  return saved;
}

std::optional<std::string> first_divergence(const SavedSchedule& saved, const Program& program,
                                            const RunResult& result) {
  const std::vector<std::string> events = first_events(result.report.trace);
  const auto [was, is] = std::ranges::mismatch(saved.events, events);
  if (was != saved.events.end() || is != events.end()) {
    return fmt::format("event {} is '{}', recorded was '{}'{}", was - saved.events.begin(),
                       is == events.end() ? "none" : *is, was == saved.events.end() ? "none" : *was,
                       blame(saved, program));
  }
  if (result.report.outcome == sim::Outcome::diverged) {
    return result.report.divergence + blame(saved, program);
  }
  if (saved.trace_digest != result.report.trace.digest) {
    return fmt::format("the trace differs after event {}{}", events.size(), blame(saved, program));
  }
  if (saved.result_digest != result.outputs.digest) {
    return fmt::format("the ranks' outputs have digest {}, recorded was {}{}",
                       to_hex(result.outputs.digest), to_hex(saved.result_digest),
                       blame(saved, program));
  }
  return std::nullopt;
}

}  // namespace gang::harness
