#include "tools/commands/benchmark_table.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::tools {
namespace {

std::vector<std::string> works_of(const std::vector<std::string>& patterns) {
  const auto never = [] { return Measurement{}; };
  std::vector<std::string> works;
  for (const Benchmark& one :
       select({{"4 byte, 8 ranks", never}, {"gloo, 2", never}, {"sim-gloo, 8", never}}, patterns))
    works.push_back(one.work);
  return works;
}

TEST(BenchmarkTable, IsWholeWithoutPatterns) { EXPECT_EQ(works_of({}).size(), 3U); }

TEST(BenchmarkTable, APatternIsPartOfALineOrAGlobOfAllOfIt) {
  EXPECT_EQ(works_of({"gloo"}), (std::vector<std::string>{"gloo, 2", "sim-gloo, 8"}));
  EXPECT_EQ(works_of({"gloo*"}), (std::vector<std::string>{"gloo, 2"}));
  EXPECT_EQ(works_of({"?im*", "byte"}),
            (std::vector<std::string>{"4 byte, 8 ranks", "sim-gloo, 8"}));
}

TEST(BenchmarkTable, APatternThatMatchesNothingIsRefused) {
  try {
    works_of({"gloo", "glue"});
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "--filter 'glue' matches no line of the table; lines: '4 byte, 8 ranks'; 'gloo, "
                 "2'; 'sim-gloo, 8'");
  }
}

TEST(BenchmarkTable, HasALineOnceEach) {
  std::vector<std::string> works;
  for (const Benchmark& one : all_benchmarks(Thoroughness::full)) works.push_back(one.work);
  EXPECT_TRUE(std::ranges::all_of(works, [](const auto& work) { return work.size() < 35; }));
  std::ranges::sort(works);
  EXPECT_EQ(std::ranges::adjacent_find(works), works.end());
  EXPECT_LT(all_benchmarks(Thoroughness::quick).size(), works.size());
}

TEST(BenchmarkTable, AQuickOneHasNoMoreThan131072Ranks) {
  const auto has_a_million = [](const Benchmark& one) {
    return one.work.find("1,048,576") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::none_of(all_benchmarks(Thoroughness::quick), has_a_million));
  EXPECT_EQ(std::ranges::count_if(all_benchmarks(Thoroughness::full), has_a_million), 2);
}

TEST(BenchmarkTable, AQuickOneHasAllOtherLines) {
  const auto works_of_table = [](Thoroughness thoroughness) {
    std::vector<std::string> works;
    for (const Benchmark& one : all_benchmarks(thoroughness))
      if (one.work.find("1,048,576") == std::string::npos) works.push_back(one.work);
    return works;
  };
  EXPECT_EQ(works_of_table(Thoroughness::quick), works_of_table(Thoroughness::full));
}

TEST(BenchmarkTable, ASmallReductionSaysOnWhatItRuns) {
  std::vector<std::string> works;
  for (const Benchmark& one : all_benchmarks(Thoroughness::full)) works.push_back(one.work);
  for (const char* work : {"4 byte all_reduce, 8 ranks", "4 byte all_reduce, 1,048,576 ranks",
                           "4 byte all_reduce, 64 threads", "sim-gloo, 4 bytes, 512 ranks"})
    EXPECT_EQ(std::ranges::count(works, work), 1) << work;
}

TEST(MedianOf, IsTheMiddleOne) {
  const auto median = [](std::vector<double> values) {
    std::size_t calls = 0;
    const double middle =
        median_of(static_cast<int>(values.size()), [&] { return values.at(calls++); });
    EXPECT_EQ(calls, values.size());
    return middle;
  };
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({2, 1}), 2);
}

nlohmann::json ratio(double median, double low, double high) {
  return {{"median_ratio", median}, {"low", low}, {"high", high}};
}

TEST(WorstRatio, DecidesOnlyWhatIsCertain) {
  EXPECT_EQ(worst_ratio("1.02", {ratio(1.00, 0.99, 1.01), ratio(1.02, 1.01, 1.03)}).holds, true);
  EXPECT_EQ(worst_ratio("1.02", {ratio(1.00, 0.99, 1.01), ratio(1.03, 1.01, 1.05)}).holds,
            std::nullopt);
  EXPECT_EQ(worst_ratio("1.02", nlohmann::json::array({ratio(1.03, 1.02, 1.05)})).holds,
            std::nullopt);
  EXPECT_EQ(worst_ratio("1.02", {ratio(1.05, 1.03, 1.07), ratio(1.00, 0.99, 1.01)}).holds, false);
}

TEST(WorstRatio, SaysTheRatioAndTheIntervalOfEachSize) {
  const Measurement line = worst_ratio("1.02", {ratio(1.00, 0.99, 1.01), ratio(1.03, 1.01, 1.05)});
  EXPECT_EQ(line.bar, "1.02");
  EXPECT_EQ(line.measured, "1.000 1.030");
  EXPECT_EQ(line.details, "95 % confidence: 0.990-1.010 1.010-1.050");
}

}  // namespace
}  // namespace gang::tools
