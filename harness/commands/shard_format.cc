#include "harness/commands/shard_format.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "harness/comparison/merged_comparisons.h"
#include "harness/explanation/run_sarif.h"
#include "harness/run/exploration_record.h"
#include "harness/run/run_file.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;

// The values in the files, and what they are as one.
template <typename Value, typename Read>
Value merged_values(const std::vector<json>& shards, const Read& read) {
  std::vector<Value> values;
  for (const json& shard : shards) values.push_back(read(shard));
  return merged(values);
}

// A failure that is about no line.
std::vector<SarifResult> sarif_of(const JunitSuite& suite) {
  std::vector<SarifResult> results;
  for (const JunitCase& one : suite.cases)
    if (one.failure)
      results.push_back(
          {.rule = one.class_name, .message = one.failure->message, .identity = one.name});
  return results;
}

MergedShards merge_explorations(const std::vector<json>& shards, const std::string& /*binary*/) {
  const auto whole = merged_values<ExplorationRecord>(shards, exploration_record_from_json);
  SourceTree tree(std::filesystem::current_path());
  return {.holds = whole.holds(),
          .text = to_string(whole),
          .json = to_json_text(to_json(whole)),
          .junit = {to_junit(whole)},
          .sarif = whole.failure ? to_sarif(*whole.failure, tree) : std::vector<SarifResult>{}};
}

MergedShards merge_agreements(const std::vector<json>& shards, const std::string& /*binary*/) {
  const auto whole = merged_values<AgreementReport>(shards, agreement_report_from_json);
  return {.holds = whole.agrees(),
          .text = to_string(whole),
          .json = to_json_text(to_json(whole)),
          .junit = {to_junit(whole)},
          .sarif = sarif_of(to_junit(whole))};
}

MergedShards merge_faulted_processes(const std::vector<json>& shards,
                                     const std::string& /*binary*/) {
  const auto whole = merged_values<FaultedProcessesReport>(shards, faulted_processes_from_json);
  return {.holds = whole.holds(),
          .text = to_string(whole),
          .json = to_json_text(to_json(whole)),
          .junit = {to_junit(whole)},
          .sarif = sarif_of(to_junit(whole))};
}

}  // namespace

std::vector<ShardFormat> standard_shard_formats() {
  return {{.name = std::string(exploration_format),
           .version = exploration_version,
           .command = "explore",
           .same = {"program", "fingerprint", "specification", "schedules"},
           .merge = merge_explorations},
          {.name = std::string(agreement_format),
           .version = agreement_version,
           .command = "compare --random",
           .same = {"program", "world", "backends", "seed", "cases"},
           .merge = merge_agreements},
          {.name = std::string(faulted_processes_format),
           .version = faulted_processes_version,
           .command = "compare --faults",
           .same = {"program", "world", "seed", "timeout_ns", "faults", "planned_cases"},
           .merge = merge_faulted_processes}};
}

}  // namespace gang::harness
