// The kinds of JSON that shards write and `merge` joins.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/text/junit.h"
#include "harness/text/sarif.h"

namespace gang::harness {

// What the files of all shards say together: what one run would.
struct MergedShards {
  bool holds = true;
  std::string text;  // for people
  std::string json;
  std::vector<JunitSuite> junit;
  std::vector<SarifResult> sarif;  // of the failures
};

struct ShardFormat {
  std::string name;               // their field `format`: "gangsim exploration"
  int version = 1;                // their field `version`
  std::string command;            // what writes them: "explore"
  std::vector<std::string> same;  // fields that are equal in all shards of one run

  // `shards`: of all shards, in order, with equal fields. Throws InvalidArgument for fields that
  // are missing or wrong. `binary` is what commands in the text begin with.
  std::function<MergedShards(const std::vector<nlohmann::json>& shards, const std::string& binary)>
      merge;
};

// Those of `explore` and `compare`.
std::vector<ShardFormat> standard_shard_formats();

}  // namespace gang::harness
