// A share of many runs, for several machines that divide them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "gang/environment.h"

namespace gang::harness {

// The `index`-th of `count` shares of the same runs. All of them together are all runs, and no run
// is in two. A value: compares, prints and parses.
struct Shard {
  std::uint64_t index = 0;  // below count
  std::uint64_t count = 1;  // 1: not divided

  // Consecutive runs.
  struct Block {
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    friend bool operator==(const Block&, const Block&) = default;
  };

  bool is_whole() const noexcept { return count == 1; }

  // Its share of runs of equal cost, of which there are `runs`, in order: the first shard has the
  // first block. Sizes differ by at most one; empty where there are more shards than runs.
  Block block_of(std::uint64_t runs) const noexcept;

  // Whether run `run` is in its share, where costs differ between neighbours: every count-th.
  bool contains(std::uint64_t run) const noexcept { return run % count == index; }

  friend bool operator==(const Shard&, const Shard&) = default;
};

inline constexpr std::uint64_t most_shards = 1'000'000;

std::string to_string(const Shard& shard);  // "3/8"

// Throws InvalidArgument: "--shard is '9/8'; must be I/N with 0 <= I < N".
Shard parse_shard(std::string_view name, std::string_view text);

nlohmann::json to_json(const Shard& shard);
Shard shard_from_json(const nlohmann::json& json);  // throws InvalidArgument

// The shard that an engine gives this process, and the variable that says so.
struct GivenShard {
  Shard shard;
  std::string variable;  // "SLURM_ARRAY_TASK_ID"
};

// From the variables of a Slurm array (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _STEP, _COUNT), an indexed
// job of Kubernetes (JOB_COMPLETION_INDEX, with the number of completions in JOB_COMPLETIONS, which
// the job's file must set), or parallel jobs of GitLab (CI_NODE_INDEX from 1, CI_NODE_TOTAL); none
// if none of them is set. Throws InvalidArgument for values that are malformed, contradictory or
// incomplete, and where two engines give different shards.
std::optional<GivenShard> shard_of(const EnvironmentVariables& variables);

}  // namespace gang::harness
