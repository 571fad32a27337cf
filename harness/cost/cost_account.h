// Counts the operations of a program's gangs, on any backend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/cost/cost_model.h"
#include "harness/program/program.h"
#include "harness/run/runner.h"

namespace gang::harness {

// Operations of one kind that one rank has called on its gangs of one name and size.
struct OperationCount {
  std::string gang;  // "tp"
  int size = 1;
  Link link = Link::intra_node;
  OperationKind kind = OperationKind::barrier;
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;  // as of OperationCost
  double seconds = 0;

  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

// What all ranks of a run have called, by rank; of each rank ordered by gang, size, link and kind.
using RankCounts = std::vector<std::vector<OperationCount>>;

// `program` with the operations of all of its gangs counted, on any backend: each rank notes what
// it has called, whatever it ends with (Rank::note).
Program counted(Program program, const CostModel& model = {});

// The counts of a run of a program that is counted; no counts of ranks that have noted nothing.
RankCounts counts_of(const RunResult& result);

}  // namespace gang::harness
