#include "harness/run/shard.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/text/number_text.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

const std::string* variable_of(const EnvironmentVariables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? nullptr : &found->second;
}

std::uint64_t number_of(const EnvironmentVariables& variables, const std::string& name,
                        const std::string& with, std::uint64_t least = 0) {
  const std::string* text = variable_of(variables, name);
  if (text == nullptr)
    throw InvalidArgument(fmt::format(
        "{} is set, but {} is not; set it, or give --shard (0/1: not divided)", with, name));
  return parse_number<std::uint64_t>(name, *text, least, std::numeric_limits<std::uint32_t>::max());
}

Shard checked_shard(std::uint64_t index, std::uint64_t count, std::string_view index_name,
                    std::string_view count_name) {
  if (index < count && count <= most_shards) return {.index = index, .count = count};
  throw InvalidArgument(fmt::format("{} stands for shard {} of {}, which {} says; must be below it",
                                    index_name, index, count, count_name));
}

std::optional<GivenShard> shard_of_slurm(const EnvironmentVariables& variables) {
  const std::string name = "SLURM_ARRAY_TASK_ID";
  if (variable_of(variables, name) == nullptr) return std::nullopt;
  const std::uint64_t id = number_of(variables, name, name);
  const std::uint64_t least = number_of(variables, "SLURM_ARRAY_TASK_MIN", name);
  const std::uint64_t most = number_of(variables, "SLURM_ARRAY_TASK_MAX", name);
  const std::uint64_t count = number_of(variables, "SLURM_ARRAY_TASK_COUNT", name, 1);
  const std::uint64_t step = variable_of(variables, "SLURM_ARRAY_TASK_STEP") == nullptr
                                 ? 1
                                 : number_of(variables, "SLURM_ARRAY_TASK_STEP", name, 1);
  const bool is_regular =
      least <= id && id <= most && (id - least) % step == 0 && (most - least) / step + 1 == count;
  if (!is_regular)
    throw InvalidArgument(
        fmt::format("SLURM_ARRAY_TASK_ID is {} of {} from {} to {}, which are not evenly spaced; "
                    "give --shard",
                    id, count, least, most));
  return GivenShard{checked_shard((id - least) / step, count, name, "SLURM_ARRAY_TASK_COUNT"),
                    name};
}

std::optional<GivenShard> shard_of_kubernetes(const EnvironmentVariables& variables) {
  const std::string name = "JOB_COMPLETION_INDEX";
  if (variable_of(variables, name) == nullptr) return std::nullopt;
  const std::uint64_t count = number_of(variables, "JOB_COMPLETIONS", name, 1);
  return GivenShard{checked_shard(number_of(variables, name, name), count, name, "JOB_COMPLETIONS"),
                    name};
}

std::optional<GivenShard> shard_of_gitlab(const EnvironmentVariables& variables) {
  const std::string name = "CI_NODE_INDEX";  // from 1; without `parallel:` it is not set
  if (variable_of(variables, name) == nullptr) return std::nullopt;
  const std::uint64_t count = number_of(variables, "CI_NODE_TOTAL", name, 1);
  return GivenShard{
      checked_shard(number_of(variables, name, name, 1) - 1, count, name, "CI_NODE_TOTAL"), name};
}

}  // namespace

Shard::Block Shard::block_of(std::uint64_t runs) const noexcept {
  // The first `runs % count` blocks have one run more.
  const std::uint64_t least = runs / count;
  const std::uint64_t longer = runs % count;
  return {.first = index * least + std::min(index, longer),
          .count = least + (index < longer ? 1 : 0)};
}

std::string to_string(const Shard& shard) { return fmt::format("{}/{}", shard.index, shard.count); }

Shard parse_shard(std::string_view name, std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = parse_number<std::uint64_t>(text.substr(0, slash));
    const auto count = parse_number<std::uint64_t>(text.substr(slash + 1));
    if (index && count && *index < *count && *count <= most_shards)
      return {.index = *index, .count = *count};
  }
  throw InvalidArgument(
      fmt::format("{} is '{}'; must be I/N with 0 <= I < N, at most {}", name, text, most_shards));
}

nlohmann::json to_json(const Shard& shard) {
  return {{"index", shard.index}, {"count", shard.count}};
}

Shard shard_from_json(const nlohmann::json& json) {
  const auto index = sim::field<std::uint64_t>(json, "index");
  const auto count = sim::field<std::uint64_t>(json, "count");
  if (index < count && count <= most_shards) return {.index = index, .count = count};
  throw InvalidArgument(fmt::format("field index is {} of {}; must be below it", index, count));
}

std::optional<GivenShard> shard_of(const EnvironmentVariables& variables) {
  std::optional<GivenShard> given;
  for (const auto& found :
       {shard_of_slurm(variables), shard_of_kubernetes(variables), shard_of_gitlab(variables)}) {
    if (!found) continue;
    if (given && given->shard != found->shard)
      throw InvalidArgument(fmt::format("{} says shard {} and {} says {}; give --shard",
                                        given->variable, to_string(given->shard), found->variable,
                                        to_string(found->shard)));
    if (!given) given = found;
  }
  return given;
}

}  // namespace gang::harness
