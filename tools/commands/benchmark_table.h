// What `bench` measures, each in processes of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gang::tools {

// One line of the table.
struct Measurement {
  std::string bar;
  std::string measured;
  std::optional<bool> holds;  // none: undecided, `measured` or `details` says why
  std::string details = {};   // a further line, if there is more to say
};

enum class Thoroughness { quick, full };

// A line that has not been measured yet.
struct Benchmark {
  std::string work;
  std::function<Measurement()> measure;
};

// All lines, in the order of the table; none beyond 131,072 ranks if quick.
std::vector<Benchmark> all_benchmarks(Thoroughness thoroughness);

// Those whose work contains one of `patterns` or matches it as a glob; all of them without
// patterns. Throws InvalidArgument if a pattern matches nothing.
std::vector<Benchmark> select(std::vector<Benchmark> benchmarks,
                              const std::vector<std::string>& patterns);

// The median of what `repeats` calls return; the upper one of an even number.
double median_of(int repeats, const std::function<double()>& measure);

// The ratios of several sizes, of which the worst counts: of each, a `median_ratio`, and `low` and
// `high` as its confidence interval. One above 1.02 is certain only if its whole interval is;
// otherwise it may be noise, and the line is undecided.
Measurement worst_ratio(const std::string& bar, const nlohmann::json& lines);

}  // namespace gang::tools
