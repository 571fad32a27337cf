#include "harness/run/exploration_record.h"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/program/digest.h"
#include "harness/run/run_file.h"
#include "harness/text/number_text.h"
#include "harness/text/version.h"
#include "sim/text/json_fields.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::field;

json coverage_to_json(const ExplorationCoverage& coverage) {
  json kinds = json::object();
  for (const auto& [kind, counts] : coverage.kinds)
    kinds[kind] = {{"planned", counts.planned}, {"fired", counts.fired}, {"places", counts.places}};
  return {{"runs", coverage.runs},           {"with_faults", coverage.with_faults},
          {"completed", coverage.completed}, {"typed_errors", coverage.typed_errors},
          {"corrupted", coverage.corrupted}, {"rank_operations", coverage.rank_operations},
          {"kinds", std::move(kinds)}};
}

ExplorationCoverage coverage_from_json(const json& from) {
  ExplorationCoverage coverage;
  coverage.runs = field<std::uint64_t>(from, "runs");
  coverage.with_faults = field<std::uint64_t>(from, "with_faults");
  coverage.completed = field<std::uint64_t>(from, "completed");
  coverage.typed_errors = field<std::uint64_t>(from, "typed_errors");
  coverage.corrupted = field<std::uint64_t>(from, "corrupted");
  coverage.rank_operations = field<std::uint64_t>(from, "rank_operations");
  for (const auto& [kind, counts] : sim::object_field(from, "kinds").items())
    coverage.kinds[kind] = {.planned = field<std::uint64_t>(counts, "planned"),
                            .fired = field<std::uint64_t>(counts, "fired"),
                            .places = field<std::set<std::string>>(counts, "places")};
  return coverage;
}

json to_json(const ExhaustiveSearch& search) {
  return {{"classes", search.classes},
          {"contested_choices", search.contested_choices},
          {"fault_cases", search.fault_cases},
          {"holds_with_buffered_sends", search.holds_with_buffered_sends}};
}

// None in files that were written before there was one.
std::optional<ExhaustiveSearch> exhaustive_search_from_json(const json& from) {
  if (!from.contains("exhaustive") || from["exhaustive"].is_null()) return std::nullopt;
  const json& of = from["exhaustive"];
  ExhaustiveSearch search{.classes = field<std::uint64_t>(of, "classes"),
                          .contested_choices = field<std::uint64_t>(of, "contested_choices"),
                          .fault_cases = field<std::uint64_t>(of, "fault_cases")};
  if (of.contains("holds_with_buffered_sends"))
    search.holds_with_buffered_sends = field<bool>(of, "holds_with_buffered_sends");
  return search;
}

json to_json(const Sample& sample) {
  return {{"strategy", name_of(strategy_names, sample.strategy)},
          {"depth", sample.depth},
          {"contexts", sample.contexts},
          {"steps", sample.steps},
          {"bound", sample.bound},
          {"longer_runs", sample.longer_runs},
          {"contested_choices", sample.contests},
          {"runs", sample.runs},
          {"classes", sample.classes},
          {"seen_once", sample.seen_once},
          {"unseen", sample.unseen()}};
}

// None in files that were written before there was one.
std::optional<Sample> sample_from_json(const json& from) {
  if (!from.contains("sample") || from["sample"].is_null()) return std::nullopt;
  const json& of = sim::object_field(from, "sample");
  return Sample{.strategy = sim::enum_field(of, "strategy", strategy_names),
                .depth = field<int>(of, "depth"),
                .contexts = field<std::uint64_t>(of, "contexts"),
                .steps = field<std::uint64_t>(of, "steps"),
                .bound = field<double>(of, "bound"),
                .longer_runs = field<std::uint64_t>(of, "longer_runs"),
                .contests = field<std::uint64_t>(of, "contested_choices"),
                .runs = field<std::uint64_t>(of, "runs"),
                .classes = field<std::uint64_t>(of, "classes"),
                .seen_once = field<std::uint64_t>(of, "seen_once")};
}

std::string kinds_table(const ExplorationCoverage& coverage) {
  if (coverage.kinds.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"fault", "planned", "happened", "places"}};
  for (const auto& [kind, counts] : coverage.kinds)
    rows.push_back(
        {kind, grouped(counts.planned), grouped(counts.fired), grouped(counts.places.size())});
  return "\n" + sim::table(rows);
}

// The first finding, or what was not contained.
std::string reason_of(const RunResult& failure) {
  if (!failure.uncontained.empty()) return failure.uncontained;
  if (!failure.report.findings.empty()) return failure.report.findings.front().message;
  return std::string(to_string(failure.report.outcome));
}

}  // namespace

std::string_view verdict_of(Claim claim) noexcept {
  switch (claim) {
    case Claim::proved:
      return "PROVED";
    case Claim::found:
      return "FOUND";
    case Claim::sampled:
      break;
  }
  return "SAMPLED";
}

std::string coverage_text(const ExplorationCoverage& coverage, bool has_faults) {
  std::string text;
  if (has_faults)
    text += sim::wrapped(
        fmt::format("{} with faults: {} completed or continued without the dead ranks, {} ended "
                    "with typed errors; {} had silently corrupted data",
                    grouped(coverage.with_faults),
                    grouped(coverage.with_faults - coverage.typed_errors),
                    grouped(coverage.typed_errors), grouped(coverage.corrupted)),
        "  ");
  return text + kinds_table(coverage);
}

std::optional<ExhaustiveSearch> exhaustive_search_of(const Exploration& exploration) {
  if (!exploration.every) return std::nullopt;
  return ExhaustiveSearch{.classes = exploration.every->classes,
                          .contested_choices = exploration.every->contests,
                          .fault_cases = exploration.fault_cases,
                          .holds_with_buffered_sends = exploration.holds_with_buffered_sends};
}

ExplorationRecord merged(const std::vector<ExplorationRecord>& shards) {
  ExplorationRecord whole = shards.front();
  whole.shard = {};
  whole.coverage = {};
  whole.wall_time = Duration{0};
  whole.exhaustive.reset();  // shards are drawn,
  whole.sample.reset();      // and may have seen the same classes
  whole.decisive.reset();
  whole.failure.reset();
  whole.failing_seed.reset();
  for (const ExplorationRecord& shard : shards) {
    whole.wall_time += shard.wall_time;
    if (whole.failure) continue;
    whole.coverage.add(shard.coverage);
    whole.claim = shard.claim;
    whole.decisive = shard.decisive;
    whole.failure = shard.failure;
    whole.failing_seed = shard.failing_seed;
  }
  return whole;
}

json to_json(const ExplorationRecord& record) {
  return {{"format", exploration_format},
          {"version", exploration_version},
          {"gangsim", version()},
          {"program", record.specification.program},
          {"fingerprint", to_hex(record.fingerprint)},
          {"specification", to_json(record.specification)},
          {"schedules", record.schedules},
          {"shard", to_json(record.shard)},
          {"claim", name_of(claim_names, record.claim)},
          {"coverage", coverage_to_json(record.coverage)},
          {"exhaustive", record.exhaustive ? to_json(*record.exhaustive) : json()},
          {"sample", record.sample ? to_json(*record.sample) : json()},
          {"decisive", record.decisive ? to_json(*record.decisive) : json()},
          {"wall_time_ns", record.wall_time.count()},
          {"failing_seed", record.failing_seed ? json(*record.failing_seed) : json()},
          {"failure", record.failure ? to_json(*record.failure) : json()},
          {"uncontained", record.failure ? record.failure->uncontained : ""}};
}

ExplorationRecord exploration_record_from_json(const json& from) {
  ExplorationRecord record;
  record.specification = run_specification_from_json(sim::object_field(from, "specification"));
  record.fingerprint = sim::digest_field(from, "fingerprint");
  record.schedules = field<std::uint64_t>(from, "schedules");
  record.shard = shard_from_json(sim::object_field(from, "shard"));
  record.coverage = coverage_from_json(sim::object_field(from, "coverage"));
  record.wall_time = Duration(field<std::int64_t>(from, "wall_time_ns"));
  record.claim = sim::enum_field(from, "claim", claim_names);
  record.exhaustive = exhaustive_search_from_json(from);
  record.sample = sample_from_json(from);
  if (from.contains("decisive") && !from["decisive"].is_null())
    record.decisive = decisive_choice_from_json(sim::object_field(from, "decisive"));
  if (sim::value_field(from, "failure").is_null()) return record;
  record.failure = run_result_from_json(sim::object_field(from, "failure"));
  record.failure->uncontained = field<std::string>(from, "uncontained");
  if (!sim::value_field(from, "failing_seed").is_null())
    record.failing_seed = field<std::uint64_t>(from, "failing_seed");
  return record;
}

std::string to_string(const ExplorationRecord& record) {
  const std::uint64_t first = record.specification.options.seed;
  std::string text =
      fmt::format("{}  {}, {}\n\n", verdict_of(record.claim), record.specification.program,
                  record.claim == Claim::proved
                      ? "every schedule"
                      : fmt::format("seeds {} to {}", first, first + record.schedules - 1));
  text +=
      fmt::format("  {} run{}, {} operations by ranks; {} real\n", grouped(record.coverage.runs),
                  record.coverage.runs == 1 ? "" : "s", grouped(record.coverage.rank_operations),
                  gang::to_string(std::chrono::floor<std::chrono::milliseconds>(record.wall_time)));
  text += coverage_text(record.coverage, record.specification.faults.has_value());
  if (!record.failure) return text;
  text += fmt::format("\n{}", to_string(*record.failure));
  if (record.failing_seed)
    text += fmt::format("\n  The first that failed is seed {}.\n", *record.failing_seed);
  return text;
}

JunitSuite to_junit(const ExplorationRecord& record) {
  JunitCase one{
      .class_name = "explore", .name = record.specification.program, .time = record.wall_time};
  if (record.failure)
    one.failure = {.message = reason_of(*record.failure), .text = to_string(*record.failure)};
  return {.name = "explore", .cases = {std::move(one)}};
}

}  // namespace gang::harness
