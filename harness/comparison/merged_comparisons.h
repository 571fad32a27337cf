// Comparisons that several machines have shared, as one.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/comparison/agreement_report.h"
#include "harness/comparison/faulted_processes.h"
#include "harness/text/junit.h"

namespace gang::harness {

// What to_json wrote. Throw InvalidArgument naming the field that is missing or wrong.
AgreementReport agreement_report_from_json(const nlohmann::json& json);
FaultedProcessesReport faulted_processes_from_json(const nlohmann::json& json);

// The same cases in one comparison. `shards` are all of it, in order. Times are added up.
AgreementReport merged(const std::vector<AgreementReport>& shards);
FaultedProcessesReport merged(const std::vector<FaultedProcessesReport>& shards);

JunitSuite to_junit(const AgreementReport& report);
JunitSuite to_junit(const FaultedProcessesReport& report);

}  // namespace gang::harness
