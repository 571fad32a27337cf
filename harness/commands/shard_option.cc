#include "harness/commands/shard_option.h"

#include <ostream>

#include <fmt/format.h>

namespace gang::harness {

Option ShardOption::option() {
  return {.name = "--shard",
          .value_name = "I/N",
          .description =
              "only the I-th of N shares, from 0; merge joins their --json files [as "
              "Slurm arrays, Kubernetes indexed jobs and GitLab's parallel say; 0/1]",
          .set = [this](std::string_view text) { given_ = parse_shard("--shard", text); }};
}

Shard ShardOption::announced(std::ostream& out) const {
  std::string source = "--shard";
  Shard shard = given_.value_or(Shard{});
  if (!given_) {
    const std::optional<GivenShard> found = shard_of(variables_());
    if (!found) return shard;
    shard = found->shard;
    source = found->variable;
  }
  if (!shard.is_whole()) out << fmt::format("Shard {}, as {} says\n", to_string(shard), source);
  return shard;
}

}  // namespace gang::harness
