// An exploration as a file: what was explored, what was covered, what failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/decisive_choice.h"
#include "harness/run/exploration.h"
#include "harness/run/shard.h"
#include "harness/text/junit.h"

namespace gang::harness {

inline constexpr std::string_view exploration_format = "gangsim exploration";
inline constexpr int exploration_version = 1;

// How far exhaustive runs have come.
struct ExhaustiveSearch {
  std::uint64_t classes = 0;               // of equivalent schedules, one run each
  std::uint64_t contested_choices = 0;     // the most in one run
  std::uint64_t fault_cases = 0;           // ways in which faults came about
  bool holds_with_buffered_sends = false;  // what was proved of rendezvous sends

  friend bool operator==(const ExhaustiveSearch&, const ExhaustiveSearch&) = default;
};

// Of an exploration that has made exhaustive runs; none: there were none.
std::optional<ExhaustiveSearch> exhaustive_search_of(const Exploration& exploration);

// What an exploration, or one shard of it, has found. A value: parses and prints.
struct ExplorationRecord {
  RunSpecification specification;     // of the whole exploration: its first seed
  std::uint64_t fingerprint = 0;      // of the program
  std::uint64_t schedules = 0;        // of the whole exploration
  Shard shard = {};                   // whose runs these are
  ExplorationCoverage coverage = {};  // of the runs that were made
  Duration wall_time{0};
  Claim claim = Claim::sampled;
  std::optional<ExhaustiveSearch> exhaustive = {};
  std::optional<Sample> sample = {};               // of the drawn runs, if classes were told apart
  std::optional<DecisiveChoice> decisive = {};     // of the failure, as it is shown
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
//   exhaustive                           null, or classes, contested_choices, fault_cases and
//                                        holds_with_buffered_sends
//   decisive                             null, or text, holds_otherwise (or null), found and
//                                        otherwise: null, or deeds (context, did), further, end
//   sample                               null, or the fields of Sample, and unseen
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
