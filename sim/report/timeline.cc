#include "sim/report/timeline.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

constexpr std::array statuses = {SliceStatus::complete, SliceStatus::failed, SliceStatus::pending};
constexpr std::array ends = {LaneEnd::none, LaneEnd::returned, LaneEnd::failed};

template <typename Values>
typename Values::value_type parse_one_of(const Values& values, const char* name,
                                         const std::string& text) {
  std::string accepted;
  for (const auto value : values) {
    if (to_string(value) == text) return value;
    accepted += accepted.empty() ? "" : ", ";
    accepted += to_string(value);
  }
  throw InvalidArgument(fmt::format("field {} is '{}'; accepted are {}", name, text, accepted));
}

// Two numbers, [from, to].
template <typename T>
std::array<T, 2> range_field(const nlohmann::json& json, const char* name) {
  const auto values = field<std::vector<T>>(json, name);
  if (values.size() != 2)
    throw InvalidArgument(
        fmt::format("field {} has {} numbers; expected are 2", name, values.size()));
  return {values[0], values[1]};
}

template <typename T>
std::uint32_t index_field(const nlohmann::json& json, const char* name, const std::vector<T>& in) {
  const auto index = field<std::uint32_t>(json, name);
  if (index >= in.size())
    throw InvalidArgument(
        fmt::format("field {} is {}; it must be less than {}", name, index, in.size()));
  return index;
}

nlohmann::json to_json(const TimelineCall& call) {
  return {{"operation", call.operation}, {"arguments", call.arguments}, {"at", call.location}};
}

nlohmann::json to_json(const TimelineSlice& slice) {
  return {{"call", slice.call},
          {"gang", slice.gang},
          {"sequence", slice.sequence_number},
          {"steps", {slice.first_step, slice.last_step}},
          {"ns", {slice.start.count(), slice.end.count()}},
          {"status", to_string(slice.status)}};
}

nlohmann::json to_json(const TimelineLane& lane) {
  nlohmann::json slices = nlohmann::json::array();
  for (const TimelineSlice& slice : lane.slices) slices.push_back(to_json(slice));
  return {{"ranks", lane.ranks},
          {"context", lane.context},
          {"left_out", lane.left_out},
          {"end", to_string(lane.end)},
          {"slices", std::move(slices)}};
}

TimelineCall call_from_json(const nlohmann::json& json) {
  return {.operation = field<std::string>(json, "operation"),
          .arguments = field<std::string>(json, "arguments"),
          .location = field<std::string>(json, "at")};
}

TimelineSlice slice_from_json(const nlohmann::json& json, const Timeline& timeline) {
  const auto steps = range_field<std::uint64_t>(json, "steps");
  const auto times = range_field<std::int64_t>(json, "ns");
  return {.call = index_field(json, "call", timeline.calls),
          .gang = index_field(json, "gang", timeline.gangs),
          .sequence_number = field<std::uint64_t>(json, "sequence"),
          .first_step = steps[0],
          .last_step = steps[1],
          .start = TimePoint(times[0]),
          .end = TimePoint(times[1]),
          .status = parse_one_of(statuses, "status", field<std::string>(json, "status"))};
}

TimelineLane lane_from_json(const nlohmann::json& json, const Timeline& timeline) {
  TimelineLane lane{.ranks = field<std::vector<int>>(json, "ranks"),
                    .context = field<std::string>(json, "context"),
                    .left_out = field<std::uint64_t>(json, "left_out"),
                    .end = parse_one_of(ends, "end", field<std::string>(json, "end"))};
  if (lane.ranks.empty()) throw InvalidArgument("field ranks is empty; expected is a rank");
  read_elements(json, "slices", [&lane, &timeline](const nlohmann::json& slice) {
    lane.slices.push_back(slice_from_json(slice, timeline));
  });
  return lane;
}

}  // namespace

std::string_view to_string(SliceStatus status) noexcept {
  switch (status) {
    case SliceStatus::complete:
      return "complete";
    case SliceStatus::failed:
      return "failed";
    case SliceStatus::pending:
      return "pending";
  }
  return "";
}

std::string_view to_string(LaneEnd end) noexcept {
  switch (end) {
    case LaneEnd::none:
      return "none";
    case LaneEnd::returned:
      return "returned";
    case LaneEnd::failed:
      return "failed";
  }
  return "";
}

nlohmann::json to_json(const Timeline& timeline) {
  nlohmann::json calls = nlohmann::json::array();
  for (const TimelineCall& call : timeline.calls) calls.push_back(to_json(call));
  nlohmann::json lanes = nlohmann::json::array();
  for (const TimelineLane& lane : timeline.lanes) lanes.push_back(to_json(lane));
  nlohmann::json to = {
      {"gangs", timeline.gangs},         {"calls", std::move(calls)},
      {"lanes", std::move(lanes)},       {"lanes_left_out", timeline.lanes_left_out},
      {"last_step", timeline.last_step}, {"end_ns", timeline.end.count()}};
  if (!timeline.fault_steps.empty()) to["fault_steps"] = timeline.fault_steps;
  return to;
}

Timeline timeline_from_json(const nlohmann::json& json) {
  Timeline timeline{.gangs = field<std::vector<std::string>>(json, "gangs"),
                    .lanes_left_out = field<std::uint64_t>(json, "lanes_left_out"),
                    .last_step = field<std::uint64_t>(json, "last_step"),
                    .end = TimePoint(field<std::int64_t>(json, "end_ns"))};
  if (json.contains("fault_steps"))
    timeline.fault_steps = field<std::vector<std::uint64_t>>(json, "fault_steps");
  read_elements(json, "calls", [&timeline](const nlohmann::json& call) {
    timeline.calls.push_back(call_from_json(call));
  });
  read_elements(json, "lanes", [&timeline](const nlohmann::json& lane) {
    timeline.lanes.push_back(lane_from_json(lane, timeline));
  });
  return timeline;
}

}  // namespace gang::sim
