// Reports and their parts as JSON, for those who want it: with sim/report/call_json.h and
// sim/faults/fault_plan_json.h, the only public headers of sim/ that show nlohmann's JSON. Who
// includes one links nlohmann_json::nlohmann_json.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sim/report/report.h"

namespace gang::sim {

// Texts for human readers stand beside the values: "operation", "location", "text". Fields that
// would add nothing are absent: empty "context" and "note", "waits_for_any" that is false,
// "waits_for_count" of a list that is whole. `faults` are those of the run.
nlohmann::json to_json(const Report& report);  // without the schedule and the trace's events
nlohmann::json to_json(const Finding& finding, const std::vector<FiredFault>& faults = {});
nlohmann::json to_json(const BlockedCall& blocked);
nlohmann::json to_json(const Certainty& certainty, const std::vector<FiredFault>& faults);
nlohmann::json to_json(const LeftBehind& left);
nlohmann::json to_json(const Timeline& timeline);
nlohmann::json to_json(const Trace& trace);

// Restore what to_json kept, from the values. All throw InvalidArgument, which names the missing
// or wrong field.
Report report_from_json(const nlohmann::json& json);
Finding finding_from_json(const nlohmann::json& json);
BlockedCall blocked_call_from_json(const nlohmann::json& json);
Certainty certainty_from_json(const nlohmann::json& json);
LeftBehind left_behind_from_json(const nlohmann::json& json);
Timeline timeline_from_json(const nlohmann::json& json);
Trace trace_from_json(const nlohmann::json& json);

}  // namespace gang::sim
