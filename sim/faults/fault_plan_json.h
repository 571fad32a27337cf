// Fault plans as JSON, for those who want it: shows nlohmann's JSON (see report/report_json.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/faults/fault_plan.h"

namespace gang::sim {

// {"ranks_per_node": 8, "fault": [{"kind": "crash", "ranks": [3], "operation": 4}]}: what differs
// from the defaults. Durations are nanoseconds; a Between is a number or [least, most].
nlohmann::json to_json(const FaultPlan& plan);

// Back, validated. Throws FaultPlanError. A plan from a file has its name and lines in `written`,
// with an entry for each of its faults.
FaultPlan fault_plan_from_json(const nlohmann::json& json, FaultPlan written = {});

}  // namespace gang::sim
