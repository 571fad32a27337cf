// What a program's communication costs: operations, bytes and predicted time, by gang and kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/cost/cost_account.h"

namespace gang::harness {

// The cost of a whole run; the cost of a step is that divided by `steps`. A value.
struct CostReport {
  std::string program;
  int world_size = 1;
  std::int64_t steps = 1;
  CostModel model;

  int slowest_rank = 0;                        // the lowest rank whose operations take longest
  double slowest_seconds = 0;                  // of that rank, all operations in sequence
  std::vector<OperationCount> slowest = {};    // of that rank
  std::vector<OperationCount> all_ranks = {};  // summed over ranks, ordered as for a rank
};

CostReport make_cost_report(std::string program, std::int64_t steps, const CostModel& model,
                            const RankCounts& counts);

// Two tables of at most 80 columns, for a step of the slowest rank and of all ranks together; then
// the model with its formulas.
std::string to_string(const CostReport& report);

// {"program", "world", "steps", "model", "slowest_rank": {"rank", "seconds", "operations"},
// "all_ranks": {"calls", "bytes", "bus_bytes", "operations"}}; each operation {"gang", "size",
// "link", "operation", "calls", "bytes", "bus_bytes", "seconds"}, over all steps.
nlohmann::json to_json(const CostReport& report);

}  // namespace gang::harness
