// What `check` reports: lines for people, JSON and JUnit XML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/runner.h"
#include "harness/run/shard.h"
#include "harness/text/junit.h"
#include "harness/text/sarif.h"
#include "properties/property.h"

namespace gang::tools {

// A property and its verdict.
struct CheckedProperty {
  properties::Property property;
  properties::CheckResult result;
  std::size_t index = 0;  // among those that were selected
};

struct CheckReport {
  properties::Settings settings;
  std::vector<CheckedProperty> properties;  // of the shard
  Duration time{0};
  harness::Shard shard = {};
  std::size_t selected = 0;     // properties, of all shards
  std::uint64_t selection = 0;  // tells the lists of their names apart

  bool held() const noexcept;
};

// "✓ suite.name   1000 cases   0.12 s", or the failure with its shrunk case and how to reproduce
// it. `binary` is the command that users type.
std::string line_of(const CheckedProperty& checked, const std::string& binary);

// The last line: how many held, cases and time.
std::string summary_of(const CheckReport& report);

// The first property that failed as a run, for the HTML explanation: what is wrong with the shrunk
// case and, if a run shows it, that run's findings and blocked calls. None if all held.
std::optional<harness::RunResult> explained_failure(const CheckReport& report,
                                                    const std::string& binary);

inline constexpr std::string_view check_format = "gangsim check";
inline constexpr int check_version = 1;

std::string to_json_text(const CheckReport& report, const std::string& binary);

// What to_json_text wrote, of one shard. Throws InvalidArgument naming the field that is missing or
// wrong.
CheckReport check_report_from_json(const nlohmann::json& json);

std::vector<harness::JunitSuite> to_junit(const CheckReport& report, const std::string& binary);

// A result for each property that failed, at the call of the run that shows it.
std::vector<harness::SarifResult> to_sarif(const CheckReport& report, const std::string& binary);

}  // namespace gang::tools
