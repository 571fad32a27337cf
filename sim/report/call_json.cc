#include "sim/report/call_json.h"

#include "gang/collective.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

using Direction = CallText::Direction;

constexpr auto directions = names_in_order<Direction>("none", "to", "from");

constexpr int any_rank_in_json = -1;

}  // namespace

nlohmann::json to_json(const CallText& call) {
  nlohmann::json to = {{"kind", call.kind}};
  if (call.sequence) to["sequence"] = *call.sequence;
  if (!call.payload.empty()) to["payload"] = call.payload;
  if (call.direction != Direction::none) to["direction"] = name_of(directions, call.direction);
  if (call.peer) to["peer"] = *call.peer == any_rank ? any_rank_in_json : *call.peer;
  if (!call.qualifiers.empty()) to["qualifiers"] = call.qualifiers;
  return to;
}

nlohmann::json to_json(const GangLabel& gang) {
  return {{"name", gang.name}, {"members", gang.members}};
}

nlohmann::json to_json(const SourceLocation& location) {
  nlohmann::json to = {{"file", location.file}, {"line", location.line}};
  if (!location.function.empty()) to["function"] = location.function;
  return to;
}

void add_location(nlohmann::json& json, const SourceLocation& location, const char* name) {
  json[name] = to_string(location);
  if (!location.empty()) json["call_site"] = to_json(location);
}

SourceLocation location_field(const nlohmann::json& json, const char* name) {
  if (json.contains("call_site")) return source_location_from_json(object_field(json, "call_site"));
  return parse_source_location(field<std::string>(json, name));
}

SourceLocation source_location_from_json(const nlohmann::json& from) {
  return {.file = field<std::string>(from, "file"),
          .line = field<std::uint32_t>(from, "line"),
          .function = optional_field<std::string>(from, "function").value_or("")};
}

CallText call_text_from_json(const nlohmann::json& from) {
  CallText call{.kind = field<std::string>(from, "kind"),
                .sequence = optional_field<std::uint64_t>(from, "sequence"),
                .payload = optional_field<std::string>(from, "payload").value_or(""),
                .peer = optional_field<int>(from, "peer"),
                .qualifiers = optional_field<std::string>(from, "qualifiers").value_or("")};
  if (call.peer == any_rank_in_json) call.peer = any_rank;
  if (from.contains("direction")) call.direction = enum_field(from, "direction", directions);
  return call;
}

GangLabel gang_label_from_json(const nlohmann::json& from) {
  return {field<std::string>(from, "name"), field<std::string>(from, "members")};
}

}  // namespace gang::sim
