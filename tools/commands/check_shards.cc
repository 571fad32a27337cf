#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "tools/commands/check_report.h"
#include "tools/commands/commands.h"

namespace gang::tools {
namespace {

// The same properties in one check, in the order of the selection. Times are added up.
CheckReport merge_checks(const std::vector<nlohmann::json>& shards) {
  CheckReport whole;
  for (const nlohmann::json& shard : shards) {
    CheckReport report = check_report_from_json(shard);
    report.time += whole.time;
    report.properties.insert(report.properties.begin(), whole.properties.begin(),
                             whole.properties.end());
    whole = std::move(report);
  }
  whole.shard = {};
  std::ranges::stable_sort(whole.properties, {}, &CheckedProperty::index);
  for (std::size_t i = 0; i < std::max(whole.selected, whole.properties.size()); ++i)
    if (i >= whole.properties.size() || whole.properties[i].index != i)
      throw InvalidArgument(
          fmt::format("property {} of {} is not in one shard exactly", i, whole.selected));
  return whole;
}

harness::MergedShards merge_check_shards(const std::vector<nlohmann::json>& shards,
                                         const std::string& binary) {
  const CheckReport whole = merge_checks(shards);
  harness::MergedShards merged{.holds = whole.held(),
                               .text = {},
                               .json = to_json_text(whole, binary),
                               .junit = to_junit(whole, binary),
                               .sarif = to_sarif(whole, binary)};
  for (const CheckedProperty& checked : whole.properties) merged.text += line_of(checked, binary);
  merged.text += summary_of(whole);
  return merged;
}

}  // namespace

harness::ShardFormat check_shard_format() {
  return {.name = std::string(check_format),
          .version = check_version,
          .command = "check",
          .same = {"seed", "cases", "max_world", "selected", "selection"},
          .merge = merge_check_shards};
}

}  // namespace gang::tools
