#include "tools/commands/benchmark_cases.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

namespace gang::tools {
namespace {

TEST(BenchmarkCases, TheTableHasThemAll) {
  const std::vector<Benchmark> table = all_benchmarks(Thoroughness::quick);
  const std::vector<Benchmark> lines = message_benchmarks();
  EXPECT_EQ(lines.size(), 5U);
  for (const Benchmark& line : lines)
    EXPECT_EQ(std::ranges::count(table, line.work, &Benchmark::work), 1) << line.work;
}

TEST(BenchmarkCases, TheTableHasSingleOnes) {
  const std::vector<Benchmark> table = all_benchmarks(Thoroughness::quick);
  for (const Benchmark& line :
       {recording_benchmark(), exploration_benchmark(), reduction_benchmark()})
    EXPECT_EQ(std::ranges::count(table, line.work, &Benchmark::work), 1) << line.work;
}

TEST(BenchmarkCases, TimesAreInMilliseconds) {
  EXPECT_DOUBLE_EQ((MeasuredCase{.result = {{"real_time", 250.0}}}).seconds(), 0.25);
}

TEST(BenchmarkCases, HoldWithinAllTheirBars) {
  const auto holds = [](double gib, double ms, std::optional<double> mib = {}) {
    const MeasuredCase run{.result = {{"real_time", ms}, {"json_mib", mib.value_or(100)}},
                           .peak_gib = gib};
    return against({.gib = 0.4, .seconds = 5, .mib = mib ? std::optional(8.0) : std::nullopt}, run)
        .holds;
  };
  EXPECT_EQ(holds(0.4, 5000), true);
  EXPECT_EQ(holds(0.5, 5000), false);
  EXPECT_EQ(holds(0.4, 5001), false);
  EXPECT_EQ(holds(0.4, 5000, 8), true);
  EXPECT_EQ(holds(0.4, 5000, 9), false);
  EXPECT_EQ(holds(0.5, 5000, 8), false);
}

}  // namespace
}  // namespace gang::tools
