#include "sim/report/timeline.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/operation_kind.h"
#include "sim/report/call_json.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

constexpr auto statuses = names_in_order<SliceStatus>("complete", "failed", "pending");
constexpr auto ends = names_in_order<LaneEnd>("none", "returned", "failed");

// Two numbers, [from, to].
template <typename T>
std::array<T, 2> range_field(const nlohmann::json& json, const char* name) {
  const auto values = field<std::vector<T>>(json, name);
  if (values.size() != 2)
    throw InvalidArgument(
        fmt::format("field {}: expected 2 numbers, found {}", name, values.size()));
  return {values[0], values[1]};
}

template <typename T>
std::uint32_t index_field(const nlohmann::json& json, const char* name, const std::vector<T>& in) {
  const auto index = field<std::uint32_t>(json, name);
  if (index >= in.size())
    throw InvalidArgument(
        fmt::format("field {} is {}; must be less than {}", name, index, in.size()));
  return index;
}

nlohmann::json timed_call_to_json(const TimelineCall& call) {
  nlohmann::json to = {{"call", to_json(call.call)}};
  add_location(to, call.location, "at");
  return to;
}

nlohmann::json slice_to_json(const TimelineSlice& slice) {
  return {{"call", slice.call},
          {"gang", slice.gang},
          {"sequence", slice.sequence_number},
          {"steps", {slice.first_step, slice.last_step}},
          {"ns", {slice.start.count(), slice.end.count()}},
          {"status", to_string(slice.status)}};
}

nlohmann::json lane_to_json(const TimelineLane& lane) {
  return {{"ranks", lane.ranks},
          {"context", lane.context},
          {"left_out", lane.left_out},
          {"end", to_string(lane.end)},
          {"slices", array_of(lane.slices, slice_to_json)}};
}

TimelineCall timed_call_from_json(const nlohmann::json& json) {
  return {.call = call_text_from_json(object_field(json, "call")),
          .location = location_field(json, "at")};
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
          .status = enum_field(json, "status", statuses)};
}

TimelineLane lane_from_json(const nlohmann::json& json, const Timeline& timeline) {
  TimelineLane lane{.ranks = field<std::vector<int>>(json, "ranks"),
                    .context = field<std::string>(json, "context"),
                    .left_out = field<std::uint64_t>(json, "left_out"),
                    .end = enum_field(json, "end", ends)};
  if (lane.ranks.empty()) throw InvalidArgument("field ranks: expected a rank, found none");
  read_elements(json, "slices", [&lane, &timeline](const nlohmann::json& slice) {
    lane.slices.push_back(slice_from_json(slice, timeline));
  });
  return lane;
}

}  // namespace

bool is_message(const TimelineCall& call) noexcept {
  const std::optional<OperationKind> kind = parse_operation_kind(call.call.kind);
  return kind && is_point_to_point(*kind);
}

std::string_view to_string(SliceStatus status) noexcept { return name_of(statuses, status); }

std::string_view to_string(LaneEnd end) noexcept { return name_of(ends, end); }

nlohmann::json to_json(const Timeline& timeline) {
  nlohmann::json to = {{"gangs", array_of(timeline.gangs, to_json)},
                       {"calls", array_of(timeline.calls, timed_call_to_json)},
                       {"lanes", array_of(timeline.lanes, lane_to_json)},
                       {"lanes_left_out", timeline.lanes_left_out},
                       {"last_step", timeline.last_step},
                       {"end_ns", timeline.end.count()}};
  if (!timeline.fault_steps.empty()) to["fault_steps"] = timeline.fault_steps;
  return to;
}

Timeline timeline_from_json(const nlohmann::json& json) {
  Timeline timeline{.gangs = elements_field(json, "gangs", gang_label_from_json),
                    .lanes_left_out = field<std::uint64_t>(json, "lanes_left_out"),
                    .last_step = field<std::uint64_t>(json, "last_step"),
                    .end = TimePoint(field<std::int64_t>(json, "end_ns"))};
  if (json.contains("fault_steps"))
    timeline.fault_steps = field<std::vector<std::uint64_t>>(json, "fault_steps");
  read_elements(json, "calls", [&timeline](const nlohmann::json& call) {
    timeline.calls.push_back(timed_call_from_json(call));
  });
  read_elements(json, "lanes", [&timeline](const nlohmann::json& lane) {
    timeline.lanes.push_back(lane_from_json(lane, timeline));
  });
  return timeline;
}

}  // namespace gang::sim
