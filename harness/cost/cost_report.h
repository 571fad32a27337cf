// What a program's communication costs: operations, bytes and predicted time by gang and kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/cost/cost_account.h"

namespace gang::harness {

// Of a whole run; what is said of a step is that divided by `steps`. A value.
struct CostReport {
  std::string program;
  int world_size = 1;
  std::int64_t steps = 1;
  CostModel model;

  int slowest_rank = 0;                      // whose operations take longest; the lowest such rank
  double slowest_seconds = 0;                // of that rank, all operations one after the other
  std::vector<OperationCount> slowest = {};  // that rank's
  std::vector<OperationCount> all_ranks = {};  // summed over ranks, ordered as those of a rank
};

CostReport make_cost_report(std::string program, std::int64_t steps, const CostModel& model,
                            const RankCounts& counts);

// Two tables, at most 80 columns: a step of the slowest rank, and of all ranks together; then the
// model with its formulas.
std::string to_string(const CostReport& report);

// {"program", "world", "steps", "model", "slowest_rank": {"rank", "seconds", "operations"},
// "all_ranks": {"calls", "bytes", "bus_bytes", "operations"}}; each operation {"gang", "size",
// "link", "operation", "calls", "bytes", "bus_bytes", "seconds"}, of all steps together.
nlohmann::json to_json(const CostReport& report);

}  // namespace gang::harness
