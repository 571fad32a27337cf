// --shard: which share of the runs this process makes.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>

#include "gang/environment.h"
#include "harness/commands/option.h"
#include "harness/run/shard.h"

namespace gang::harness {

// Where a command reads the variables of its process, when it runs; tests give their own.
using ReadEnvironment = std::function<EnvironmentVariables()>;

class ShardOption {
 public:
  explicit ShardOption(ReadEnvironment variables) : variables_(std::move(variables)) {}

  Option option();

  bool is_given() const noexcept { return given_.has_value(); }

  // What was given, else what the environment says (shard_of), else the whole. A share is said to
  // `out` in a line that names where it comes from. Throws as shard_of.
  Shard announced(std::ostream& out) const;

 private:
  ReadEnvironment variables_;
  std::optional<Shard> given_;
};

}  // namespace gang::harness
