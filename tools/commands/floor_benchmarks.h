// Lines of `bench` that do not depend on how fast or busy the machine is: ratios to a bare loop, or
// to an all_reduce, of the same run, and counts of instructions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/commands/benchmark_cases.h"
#include "tools/commands/benchmark_table.h"

namespace gang::tools {

// A kind of call, as repeated_calls knows it, on a number of ranks.
struct CountedCall {
  std::string kind;
  int world_size = 8;
  double bar = 0;       // instructions per rank-operation
  double recorded = 0;  // when the count was last lowered
};

// What `bench` counts, in its order.
const std::vector<CountedCall>& counted_calls();

// Instructions that a rank spends on one such call: the difference of two runs under valgrind,
// without the start and the end of the world. None if valgrind or repeated_calls is not there.
std::optional<double> instructions_of(const CountedCall& call);

// "all_reduce, 8 ranks, floor": against a loop that only posts, matches, reduces and switches; of
// sim-gloo against one that only passes on what Gloo sends, and switches.
std::vector<Benchmark> floor_benchmarks(const RunCase& runner = run_case);

// Nanoseconds that a rank of eight spends on a call of a kind; none if repeated_calls is not there.
using TimeOfKind = std::function<std::optional<double>(const std::string& kind)>;
std::optional<double> time_of_kind(const std::string& kind);

// "barrier, vs all_reduce": the time of every other kind, against an all_reduce of the same run.
std::vector<Benchmark> kind_benchmarks(const TimeOfKind& time_of = time_of_kind);

// "instructions, barrier, 8 ranks".
std::vector<Benchmark> instruction_benchmarks();

}  // namespace gang::tools
