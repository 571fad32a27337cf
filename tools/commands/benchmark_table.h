// What `bench` measures, each in processes of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gang::tools {

// One line of the table.
struct Measurement {
  std::string bar;
  std::string measured;
  std::optional<bool> holds;  // none: could not be told, `measured` or `details` say why
  std::string details = {};   // a line beneath, where there is more to say
};

enum class Thoroughness { quick, full };

// A line that has not been measured yet.
struct Benchmark {
  std::string work;
  std::function<Measurement()> measure;
};

// All lines, in the order of the table; nothing beyond 131,072 ranks where quick.
std::vector<Benchmark> all_benchmarks(Thoroughness thoroughness);

// Those whose work matches one of `patterns`, as a whole with * and ?, or in any part; all of them
// without patterns. Throws InvalidArgument where a pattern matches nothing.
std::vector<Benchmark> select(std::vector<Benchmark> benchmarks,
                              const std::vector<std::string>& patterns);

}  // namespace gang::tools
