// Small worlds whose calls are recorded.
#pragma once

#include "sim/report/call_history.h"
#include "tests/sim/worlds.h"

namespace gang::sim::test {

inline Report recorded(int world_size, const RankProgram& program) {
  return run({.world_size = world_size, .timeline = Recording::on}, program);
}

// A call site of the one file that these programs have.
inline CallSite line(std::uint32_t number) { return CallSite::at("train.py", number); }

inline void reduce(Gang& gang, std::uint32_t at_line, std::size_t count = 1) {
  std::vector<float> values(count);
  gang.all_reduce(view(values), ReduceOperation::sum, {}, line(at_line));
}

// The pairs 0,1 and 2,3 and so on.
inline std::shared_ptr<Gang> pair_of(SimulatedRank& rank) {
  return rank.root()->split({.color = rank.rank() / 2}, {.name = "tp"}, line(1));
}

}  // namespace gang::sim::test
