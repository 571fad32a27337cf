// An exploration as a file: what was explored, what was covered, what failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/exploration.h"
#include "harness/run/shard.h"
#include "harness/text/junit.h"

namespace gang::harness {

inline constexpr std::string_view exploration_format = "gangsim exploration";
inline constexpr int exploration_version = 1;

// What an exploration, or one shard of it, has found. A value: parses and prints.
struct ExplorationRecord {
  RunSpecification specification;     // of the whole exploration: its first seed
  std::uint64_t fingerprint = 0;      // of the program
  std::uint64_t schedules = 0;        // of the whole exploration
  Shard shard = {};                   // whose runs these are
  ExplorationCoverage coverage = {};  // of the runs that were made
  Duration wall_time{0};
  Claim claim = Claim::sampled;
  std::optional<RunResult> failure = {};           // the first; of random runs, made smaller
  std::optional<std::uint64_t> failing_seed = {};  // of random runs: before it was made smaller

  bool holds() const noexcept { return !failure; }
};

// The same exploration by one process: verdict, failure and coverage are those of the shards up to
// the first that failed, as no run of the others would have been made; wall times are added up.
// `shards` are all of one exploration, in order.
ExplorationRecord merged(const std::vector<ExplorationRecord>& shards);

// An object with the fields
//   format, version, gangsim             "gangsim exploration", 1; the version of gangsim
//   program, fingerprint, specification, schedules      what was explored; equal in all shards
//   shard                                {"index": 3, "count": 8}
//   claim, coverage, wall_time_ns        "proved", "found" or "sampled"
//   failing_seed, failure, uncontained   null, or a saved run (run_file.h)
nlohmann::json to_json(const ExplorationRecord& record);

// Throws InvalidArgument naming the field that is missing or wrong.
ExplorationRecord exploration_record_from_json(const nlohmann::json& json);

// For people: the verdict and what was covered; the failure's report.
std::string to_string(const ExplorationRecord& record);

JunitSuite to_junit(const ExplorationRecord& record);

std::string_view verdict_of(Claim claim) noexcept;  // "PROVED"

// What was covered, in lines: `has_faults` if faults were planned.
std::string coverage_text(const ExplorationCoverage& coverage, bool has_faults);

}  // namespace gang::harness
