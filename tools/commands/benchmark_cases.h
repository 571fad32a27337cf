// Lines of `bench` that are cases of gangsim_benchmarks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/commands/benchmark_table.h"

namespace gang::tools {

// A case of gangsim_benchmarks, and the memory of its process.
struct MeasuredCase {
  nlohmann::json result;
  double peak_gib = 0;

  double seconds() const;  // of a case in milliseconds
};

// What a case may take at most, all of it.
struct CaseBars {
  double gib = 0;
  double seconds = 0;
  std::optional<double> mib = {};  // of the report, if it writes one
};

// What a case that times itself in milliseconds has taken, and whether that is within its bars.
Measurement against(const CaseBars& bars, const MeasuredCase& run);

// Runs the first case of `binary` whose name begins with `name`, in a process of its own. None if
// the process fails or has no such case. Blocks. Throws as run_measured.
std::optional<MeasuredCase> run_case_of(const std::string& binary, const std::string& name);

// The same of gangsim_benchmarks. None if it is not built.
std::optional<MeasuredCase> run_case(const std::string& name);

// How a line has its case run: run_case, except in tests.
using RunCase = std::function<std::optional<MeasuredCase>(const std::string& name)>;

// What messages of 16,384 ranks cost, and what is said about them if they deadlock.
std::vector<Benchmark> message_benchmarks(const RunCase& runner = run_case);

// How many schedules of a small program an exploration runs per second, and how many contested
// choices it records then.
std::vector<Benchmark> exploration_benchmarks(const RunCase& runner = run_case);

// The slowest of the reductions, against the loop that one would write for it.
Benchmark reduction_benchmark(const RunCase& runner = run_case);

// What a flight recorder adds to a call.
Benchmark recording_benchmark(const RunCase& runner = run_case);

}  // namespace gang::tools
