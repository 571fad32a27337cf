// Calls, gangs and places of a report as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gang/call_site.h"
#include "gang/call_text.h"
#include "gang/gang_label.h"

namespace gang::sim {

// {"kind": "send", "payload": "f32[4]", "direction": "to", "peer": 1, "qualifiers": "tag 7"},
// without empty fields. `peer` is a rank of the root gang, -1 for any; absent if each call has its
// own.
nlohmann::json to_json(const CallText& call);

nlohmann::json to_json(const GangLabel& gang);  // {"name": "dp", "members": "0,2"}

// {"file": "src/train.cc", "line": 41, "function": "void train(Gang&)"}, without an empty function.
nlohmann::json to_json(const SourceLocation& location);

// Writes a place into `json`: as text for human readers, under `name`, and as a value, `call_site`,
// unless it is empty. Reading takes the value, or the text, which is all that older files have.
void add_location(nlohmann::json& json, const SourceLocation& location,
                  const char* name = "location");
SourceLocation location_field(const nlohmann::json& json, const char* name = "location");

// The inverse. All throw InvalidArgument, which names the missing or wrong field.
CallText call_text_from_json(const nlohmann::json& json);
GangLabel gang_label_from_json(const nlohmann::json& json);
SourceLocation source_location_from_json(const nlohmann::json& json);

}  // namespace gang::sim
