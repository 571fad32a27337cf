#include "sim/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "sim/json_fields.h"

namespace gang::sim {
namespace {

constexpr std::array kinds = {TraceEventKind::post, TraceEventKind::complete, TraceEventKind::fail,
                              TraceEventKind::task_start, TraceEventKind::task_end};

TraceEventKind parse_kind(const std::string& text) {
  for (const TraceEventKind kind : kinds)
    if (to_string(kind) == text) return kind;
  throw InvalidArgument(fmt::format(
      "field kind is '{}'; accepted are post, complete, fail, task_start and task_end", text));
}

std::string_view gang_of(const Trace& trace, const TraceEvent& event) {
  return event.gang < trace.gangs.size() ? std::string_view(trace.gangs[event.gang]) : "";
}

nlohmann::json event_to_json(const TraceEvent& event) {
  return {{"kind", to_string(event.kind)},
          {"task", event.task},
          {"rank", event.rank},
          {"gang", event.gang},
          {"sequence", event.sequence_number},
          {"time_ns", event.time.count()},
          {"operation", event.operation},
          {"location", event.location}};
}

TraceEvent event_from_json(const nlohmann::json& json) {
  TraceEvent event;
  event.kind = parse_kind(field<std::string>(json, "kind"));
  event.task = field<TaskId>(json, "task");
  event.rank = field<int>(json, "rank");
  event.gang = field<std::uint32_t>(json, "gang");
  event.sequence_number = field<std::uint64_t>(json, "sequence");
  event.time = TimePoint(field<std::int64_t>(json, "time_ns"));
  event.operation = field<std::string>(json, "operation");
  event.location = field<std::string>(json, "location");
  return event;
}

bool is_of_task(TraceEventKind kind) noexcept {
  return kind == TraceEventKind::task_start || kind == TraceEventKind::task_end;
}

nlohmann::json chrome_event(const Trace& trace, const TraceEvent& event, std::string_view phase) {
  nlohmann::json json = {{"ph", phase},
                         {"pid", event.rank},
                         {"tid", event.task},
                         {"ts", static_cast<double>(event.time.count()) / 1000.0}};
  if (is_of_task(event.kind)) {
    json["name"] = event.operation.empty() ? "program" : event.operation;
    json["cat"] = "context";
  } else {
    json["name"] = fmt::format("{} {}", gang_of(trace, event), event.operation);
    json["cat"] = std::string(gang_of(trace, event));
    // Messages are numbered apart from collectives.
    const std::string_view kind =
        std::string_view(event.operation).substr(0, event.operation.find(' '));
    json["id"] = fmt::format("{}.{}.{}.{}", event.rank, event.gang, kind, event.sequence_number);
    json["args"] = {{"location", event.location}, {"outcome", to_string(event.kind)}};
  }
  return json;
}

std::string_view chrome_phase(TraceEventKind kind) noexcept {
  switch (kind) {
    case TraceEventKind::task_start:
      return "B";
    case TraceEventKind::task_end:
      return "E";
    case TraceEventKind::post:
      return "b";
    default:
      return "e";
  }
}

}  // namespace

std::string_view to_string(TraceEventKind kind) noexcept {
  switch (kind) {
    case TraceEventKind::post:
      return "post";
    case TraceEventKind::complete:
      return "complete";
    case TraceEventKind::fail:
      return "fail";
    case TraceEventKind::task_start:
      return "task_start";
    case TraceEventKind::task_end:
      return "task_end";
  }
  return "";
}

std::string to_string(const Trace& trace) {
  std::string text;
  for (const TraceEvent& event : trace.events) {
    fmt::format_to(std::back_inserter(text), "{:>12} ns  rank {:<6} {:<10} ", event.time.count(),
                   event.rank, to_string(event.kind));
    if (!is_of_task(event.kind))
      fmt::format_to(std::back_inserter(text), "{} ", gang_of(trace, event));
    text += event.operation;
    if (!event.location.empty()) text += "  " + event.location;
    text += '\n';
  }
  return text;
}

std::string to_chrome_trace(const Trace& trace) {
  nlohmann::json events = nlohmann::json::array();
  for (const TraceEvent& event : trace.events)
    events.push_back(chrome_event(trace, event, chrome_phase(event.kind)));
  return nlohmann::json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump();
}

nlohmann::json to_json(const Trace& trace) {
  nlohmann::json events = nlohmann::json::array();
  for (const TraceEvent& event : trace.events) events.push_back(event_to_json(event));
  return {{"digest", fmt::format("{:016x}", trace.digest)},
          {"gangs", trace.gangs},
          {"events", std::move(events)}};
}

Trace trace_from_json(const nlohmann::json& json) {
  Trace trace;
  const auto digest = field<std::string>(json, "digest");
  std::size_t end = 0;
  try {
    trace.digest = std::stoull(digest, &end, 16);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end != digest.size() || digest.empty())
    throw InvalidArgument(
        fmt::format("field digest is '{}'; accepted are 16 hexadecimal digits", digest));
  trace.gangs = field<std::vector<std::string>>(json, "gangs");
  for (const nlohmann::json& event : field<nlohmann::json>(json, "events"))
    trace.events.push_back(event_from_json(event));
  return trace;
}

}  // namespace gang::sim
