#include "harness/comparison/merged_comparisons.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/backends/backend.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::field;

Difference difference_from_json(const json& from) {
  return {.rank = field<int>(from, "rank"),
          .output = field<std::string>(from, "output"),
          .element = field<std::int64_t>(from, "element"),
          .left = field<std::string>(from, "left"),
          .right = field<std::string>(from, "right")};
}

FaultedCase case_from_json(const json& from) {
  return {.index = field<std::uint64_t>(from, "case"),
          .faults = field<std::vector<std::string>>(from, "faults"),
          .left_out = field<std::map<std::string, int>>(from, "left_out"),
          .fired = field<std::size_t>(from, "fired"),
          .ends = field<std::map<std::string, int>>(from, "ends"),
          .slowest = Duration(field<std::int64_t>(from, "slowest_ns")),
          .slowest_error = field<std::string>(from, "slowest_error"),
          .problems = field<std::vector<std::string>>(from, "problems")};
}

// Two of something, in an array.
template <typename T>
std::array<T, 2> pair_of(const json& from, const char* name) {
  auto pair = field<std::vector<T>>(from, name);
  if (pair.size() != 2)
    throw InvalidArgument(fmt::format("field {} has {} elements; must be 2", name, pair.size()));
  return {std::move(pair[0]), std::move(pair[1])};
}

// The program stops at the first case that does not complete; where none does, so it is for all.
std::string verdict_of_all(const std::vector<AgreementReport>& shards,
                           std::string AgreementReport::* verdict) {
  for (const AgreementReport& shard : shards)
    if (shard.*verdict != "completed") return shard.*verdict;
  return "completed";
}

std::string failure_of(const FaultedProcessesReport& report) {
  if (report.clean_failure) return *report.clean_failure;
  for (const FaultedCase& one : report.cases)
    if (!one.problems.empty()) return fmt::format("case {}: {}", one.index, one.problems.front());
  return "";
}

}  // namespace

AgreementReport agreement_report_from_json(const json& from) {
  const auto backends = pair_of<std::string>(from, "backends");
  const auto verdicts = pair_of<std::string>(from, "verdicts");
  const auto problems = pair_of<std::string>(from, "problems");
  const auto times = pair_of<std::int64_t>(from, "wall_times_ns");
  AgreementReport report{.program = field<std::string>(from, "program"),
                         .world_size = field<int>(from, "world"),
                         .left = parse_backend(backends[0]),
                         .right = parse_backend(backends[1]),
                         .left_verdict = verdicts[0],
                         .right_verdict = verdicts[1],
                         .outputs = field<std::size_t>(from, "outputs"),
                         .allowed_units = field<double>(from, "allowed_units_in_last_place"),
                         .left_text = problems[0],
                         .right_text = problems[1],
                         .left_time = Duration(times[0]),
                         .right_time = Duration(times[1]),
                         .reproduce = field<std::string>(from, "reproduce"),
                         .seed = field<std::uint64_t>(from, "seed"),
                         .cases = field<std::uint64_t>(from, "cases"),
                         .shard = shard_from_json(sim::object_field(from, "shard"))};
  if (from.contains("first_difference"))
    report.difference = difference_from_json(sim::object_field(from, "first_difference"));
  return report;
}

FaultedProcessesReport faulted_processes_from_json(const json& from) {
  FaultedProcessesReport report{.program = field<std::string>(from, "program"),
                                .world_size = field<int>(from, "world"),
                                .seed = field<std::uint64_t>(from, "seed"),
                                .timeout = Duration(field<std::int64_t>(from, "timeout_ns")),
                                .faults = field<std::string>(from, "faults"),
                                .reproduce = field<std::string>(from, "reproduce"),
                                .planned_cases = field<std::uint64_t>(from, "planned_cases"),
                                .shard = shard_from_json(sim::object_field(from, "shard"))};
  if (!sim::value_field(from, "clean_failure").is_null())
    report.clean_failure = field<std::string>(from, "clean_failure");
  sim::read_elements(from, "cases",
                     [&report](const json& one) { report.cases.push_back(case_from_json(one)); });
  return report;
}

AgreementReport merged(const std::vector<AgreementReport>& shards) {
  AgreementReport whole = shards.front();
  whole.shard = {};
  whole.left_verdict = verdict_of_all(shards, &AgreementReport::left_verdict);
  whole.right_verdict = verdict_of_all(shards, &AgreementReport::right_verdict);
  for (const AgreementReport& shard : std::span(shards).subspan(1)) {
    whole.outputs += shard.outputs;
    whole.allowed_units = std::max(whole.allowed_units, shard.allowed_units);
    whole.left_time += shard.left_time;
    whole.right_time += shard.right_time;
    if (whole.left_text.empty()) whole.left_text = shard.left_text;
    if (whole.right_text.empty()) whole.right_text = shard.right_text;
    // The first by rank; of one rank, the first case.
    if (shard.difference && (!whole.difference || shard.difference->rank < whole.difference->rank))
      whole.difference = shard.difference;
  }
  const auto failed =
      std::ranges::find_if(shards, [](const AgreementReport& shard) { return !shard.agrees(); });
  if (failed != shards.end()) whole.reproduce = failed->reproduce;
  return whole;
}

FaultedProcessesReport merged(const std::vector<FaultedProcessesReport>& shards) {
  FaultedProcessesReport whole = shards.front();
  whole.shard = {};
  for (const FaultedProcessesReport& shard : std::span(shards).subspan(1)) {
    whole.cases.insert(whole.cases.end(), shard.cases.begin(), shard.cases.end());
    if (!whole.clean_failure) whole.clean_failure = shard.clean_failure;
  }
  const auto failed = std::ranges::find_if(
      shards, [](const FaultedProcessesReport& shard) { return !shard.holds(); });
  if (failed != shards.end()) whole.reproduce = failed->reproduce;
  return whole;
}

JunitSuite to_junit(const AgreementReport& report) {
  JunitCase one{.class_name = "compare",
                .name = report.program,
                .time = report.left_time + report.right_time};
  if (!report.agrees())
    one.failure = {
        .message = fmt::format("{} and {} differ", to_string(report.left), to_string(report.right)),
        .text = to_string(report)};
  return {.name = "compare", .cases = {std::move(one)}};
}

JunitSuite to_junit(const FaultedProcessesReport& report) {
  JunitCase one{.class_name = "compare",
                .name = fmt::format("{}, {}", report.program, report.faults)};
  if (!report.holds()) one.failure = {.message = failure_of(report), .text = to_string(report)};
  return {.name = "compare", .cases = {std::move(one)}};
}

}  // namespace gang::harness
