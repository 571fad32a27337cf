#include "tools/commands/benchmark_cases.h"

#include <algorithm>

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

}  // namespace
}  // namespace gang::tools
