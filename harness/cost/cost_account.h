// Counts the operations that a program calls on its gangs, on any backend.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/cost/cost_model.h"
#include "harness/program/program.h"
#include "harness/run/runner.h"

namespace gang::harness {

// Operations of one kind that one rank called on its gangs of one name and size.
struct OperationCount {
  std::string gang;  // "tp"
  int size = 1;
  Link link = Link::intra_node;
  OperationKind kind = OperationKind::barrier;
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;  // as in OperationCost
  double seconds = 0;

  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

// Sums counts by gang, size, link and kind.
class OperationSums {
 public:
  void add(const std::vector<OperationCount>& counts);

  // Ordered by gang, size, link and kind.
  std::vector<OperationCount> take();

 private:
  std::map<std::tuple<std::string, int, Link, OperationKind>, OperationCount> sums_;
};

// What all ranks of a run called, by rank; each rank's counts are as from OperationSums::take.
using RankCounts = std::vector<std::vector<OperationCount>>;

// `program` with the operations of all its gangs counted, on any backend: each rank notes what it
// called, however it ends (Rank::note).
Program counted(Program program, const CostModel& model = {});

// The counts from a run of a counted program; none for ranks that noted nothing.
RankCounts counts_of(const RunResult& result);

}  // namespace gang::harness
