#include "sim/report/trace.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/report/call_json.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

constexpr auto kinds =
    names_in_order<TraceEventKind>("post", "complete", "fail", "task_start", "task_end");

std::string_view gang_of(const Trace& trace, const TraceEvent& event) {
  return event.gang < trace.gangs.size() ? std::string_view(trace.gangs[event.gang]) : "";
}

nlohmann::json event_to_json(const Trace& trace, const TraceEvent& event) {
  nlohmann::json json = {{"kind", to_string(event.kind)},
                         {"task", event.task},
                         {"rank", event.rank},
                         {"gang", event.gang},
                         {"sequence", event.sequence_number},
                         {"time_ns", event.time.count()},
                         {"call", to_json(event.call)},
                         {"location", to_string(location_of(trace, event))}};
  if (event.call_site != no_call_site) json["call_site"] = event.call_site;
  return json;
}

TraceEvent event_from_json(const nlohmann::json& json, const Trace& trace) {
  TraceEvent event;
  event.kind = enum_field(json, "kind", kinds);
  event.task = field<TaskId>(json, "task");
  event.rank = field<int>(json, "rank");
  event.gang = field<std::uint32_t>(json, "gang");
  event.sequence_number = field<std::uint64_t>(json, "sequence");
  event.time = TimePoint(field<std::int64_t>(json, "time_ns"));
  event.call = call_text_from_json(object_field(json, "call"));
  event.call_site = optional_field<std::uint32_t>(json, "call_site").value_or(no_call_site);
  if (event.call_site != no_call_site && event.call_site >= trace.call_sites.size())
    throw InvalidArgument(fmt::format("field call_site is {}; must be less than {}",
                                      event.call_site, trace.call_sites.size()));
  return event;
}

bool is_of_task(TraceEventKind kind) noexcept {
  return kind == TraceEventKind::task_start || kind == TraceEventKind::task_end;
}

// Pairs the beginning of an operation with its end. Messages are numbered apart from collectives.
std::string chrome_id(const TraceEvent& event) {
  return fmt::format("{}.{}.{}.{}", event.rank, event.gang, event.call.kind, event.sequence_number);
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

class ChromeWriter {
 public:
  explicit ChromeWriter(const Trace& trace) : trace_(trace) {
    for (const TraceEvent& event : trace.events) {
      has_time_ = has_time_ || event.time.count() != 0;
      if (event.kind == TraceEventKind::post) open_.insert(chrome_id(event));
      if (event.kind == TraceEventKind::complete || event.kind == TraceEventKind::fail)
        open_.erase(chrome_id(event));
    }
  }

  nlohmann::json events() {
    nlohmann::json events = nlohmann::json::array();
    for (const TraceEvent& event : trace_.events) events.push_back(to_json(event));
    add_end(events);
    add_names(events);
    return events;
  }

  // Where no virtual time passes, the order of the events is shown as microseconds.
  bool has_time() const noexcept { return has_time_; }

 private:
  nlohmann::json to_json(const TraceEvent& event) {
    microseconds_ = has_time_ ? static_cast<double>(event.time.count()) / 1000.0 : count_;
    ++count_;
    nlohmann::json json = {{"ph", chrome_phase(event.kind)},
                           {"pid", event.rank},
                           {"tid", event.task},
                           {"ts", microseconds_}};
    if (is_of_task(event.kind)) {
      const std::string name = event.call.empty() ? "program" : event.call.kind;
      json["name"] = name;
      json["cat"] = "context";
      names_.try_emplace({event.rank, event.task}, name);
      return json;
    }
    const std::string id = chrome_id(event);
    json["name"] = fmt::format("{} {}", gang_of(trace_, event), to_string(event.call));
    json["cat"] = std::string(gang_of(trace_, event));
    json["id"] = id;
    json["args"] = {{"location", to_string(location_of(trace_, event))},
                    {"outcome", open_.contains(id) ? "never ended" : to_string(event.kind)}};
    return json;
  }

  // Operations that never ended are drawn up to this point, after all others.
  void add_end(nlohmann::json& events) const {
    if (trace_.events.empty()) return;
    events.push_back({{"ph", "i"},
                      {"s", "g"},
                      {"name", "end of the run"},
                      {"pid", trace_.events.back().rank},
                      {"tid", trace_.events.back().task},
                      {"ts", microseconds_ + 1}});
  }

  void add_names(nlohmann::json& events) const {
    for (const auto& named : names_) {
      const auto& [rank, task] = named.first;
      const nlohmann::json where = {{"ph", "M"}, {"pid", rank}, {"tid", task}};
      const auto add = [&events, &where](const char* what, nlohmann::json args) {
        nlohmann::json& event = events.emplace_back(where);
        event["name"] = what;
        event["args"] = std::move(args);
      };
      add("thread_name", {{"name", named.second}});
      if (named.second != "program") continue;
      add("process_name", {{"name", fmt::format("rank {}", rank)}});
      add("process_sort_index", {{"sort_index", rank}});
    }
  }

  const Trace& trace_;
  std::set<std::string> open_;  // what never ended
  std::map<std::pair<int, TaskId>, std::string> names_;
  double microseconds_ = 0;
  double count_ = 0;
  bool has_time_ = false;
};

}  // namespace

std::string_view to_string(TraceEventKind kind) noexcept { return name_of(kinds, kind); }

const SourceLocation& location_of(const Trace& trace, const TraceEvent& event) noexcept {
  static const SourceLocation none;
  return event.call_site < trace.call_sites.size() ? trace.call_sites[event.call_site] : none;
}

std::string to_string(const Trace& trace) {
  std::string text;
  for (const TraceEvent& event : trace.events) {
    fmt::format_to(std::back_inserter(text), "{:>12} ns  rank {:<6} {:<10} ", event.time.count(),
                   event.rank, to_string(event.kind));
    if (!is_of_task(event.kind))
      fmt::format_to(std::back_inserter(text), "{} ", gang_of(trace, event));
    text += to_string(event.call);
    if (event.call_site != no_call_site) text += "  " + to_string(location_of(trace, event));
    text += '\n';
  }
  return text;
}

std::string to_chrome_trace(const Trace& trace) {
  ChromeWriter writer(trace);
  nlohmann::json events = writer.events();
  const char* const axis = writer.has_time() ? "virtual time" : "order of events, as microseconds";
  const nlohmann::json json = {{"traceEvents", std::move(events)},
                               {"displayTimeUnit", "ns"},
                               {"otherData", {{"axis", axis}}}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json to_json(const Trace& trace) {
  nlohmann::json events = nlohmann::json::array();
  for (const TraceEvent& event : trace.events) events.push_back(event_to_json(trace, event));
  return {{"digest", fmt::format("{:016x}", trace.digest)},
          {"gangs", trace.gangs},
          {"call_sites", array_of<SourceLocation>(trace.call_sites, to_json)},
          {"events", std::move(events)}};
}

Trace trace_from_json(const nlohmann::json& json) {
  Trace trace;
  trace.digest = digest_field(json, "digest");
  trace.gangs = field<std::vector<std::string>>(json, "gangs");
  if (json.contains("call_sites"))
    trace.call_sites = elements_field(json, "call_sites", source_location_from_json);
  for (const nlohmann::json& event : array_field(json, "events"))
    trace.events.push_back(event_from_json(event, trace));
  return trace;
}

}  // namespace gang::sim
