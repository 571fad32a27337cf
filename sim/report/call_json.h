// Calls and gangs of a report as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "gang/call_text.h"
#include "gang/gang_label.h"

namespace gang::sim {

// {"kind": "send", "payload": "f32[4]", "direction": "to", "peer": 1, "qualifiers": "tag 7"},
// without empty fields. `peer` is -1 for any rank, absent if each call has its own.
nlohmann::json to_json(const CallText& call);

nlohmann::json to_json(const GangLabel& gang);  // {"name": "dp", "members": "0,2"}

// The inverse. Both throw InvalidArgument, which names the missing or wrong field.
CallText call_text_from_json(const nlohmann::json& json);
GangLabel gang_label_from_json(const nlohmann::json& json);

}  // namespace gang::sim
