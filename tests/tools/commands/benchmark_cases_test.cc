#include "tools/commands/benchmark_cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace gang::tools {
namespace {

TEST(BenchmarkCases, TheTableHasThemAll) {
  const std::vector<Benchmark> table = all_benchmarks(Thoroughness::quick);
  const std::vector<Benchmark> lines = message_benchmarks();
  EXPECT_EQ(lines.size(), 6U);
  for (const Benchmark& line : lines)
    EXPECT_EQ(std::ranges::count(table, line.work, &Benchmark::work), 1) << line.work;
}

TEST(BenchmarkCases, TheTableHasSingleOnes) {
  const std::vector<Benchmark> table = all_benchmarks(Thoroughness::quick);
  std::vector<Benchmark> lines = {recording_benchmark(), reduction_benchmark()};
  for (const Benchmark& line : exploration_benchmarks()) lines.push_back(line);
  for (const Benchmark& line : lines)
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

TEST(BenchmarkCases, SayTheirBarsAndWhatTheyTook) {
  const MeasuredCase run{.result = {{"real_time", 2500}, {"json_mib", 6}}, .peak_gib = 0.25};
  const Measurement line = against({.gib = 0.4, .seconds = 5, .mib = 8}, run);
  EXPECT_EQ(line.bar, "0.4 GiB, 5 s");
  EXPECT_EQ(line.measured, "0.25 GiB, 2.5 s");
  EXPECT_EQ(line.details, "report: 6.0 MiB, bar 8 MiB");
  EXPECT_EQ(against({.gib = 0.4, .seconds = 5}, run).details, "");
}

// A program that stands for gangsim_benchmarks.
std::string program_that(const std::string& does) {
  const std::string path = test::temporary_directory() + "benchmarks.sh";
  std::ofstream(path) << "#!/bin/sh\n" << does << '\n';
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(RunCase, IsTheFirstWhoseNameBeginsSo) {
  const auto run = run_case_of(program_that(R"(
    echo '{"benchmarks": [{"name": "one", "words": "'"$*"'"}, {"name": "two"}]}')"),
                               "one");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->result.at("name"), "one");
  EXPECT_EQ(run->result.at("words"), "--benchmark_filter=^one --benchmark_format=json");
}

TEST(RunCase, HasThePeakMemoryOfTheProcess) {
  const auto run = run_case_of(program_that(R"(echo '{"benchmarks": [{}]}')"), "one");
  ASSERT_TRUE(run);
  EXPECT_GT(run->peak_gib, 1e-4);
  EXPECT_LT(run->peak_gib, 0.1) << "of a shell";
}

TEST(RunCase, IsNoneIfTheProcessFailsOrHasNoSuchCase) {
  const auto runs = [](const std::string& does) {
    return run_case_of(program_that(does), "one").has_value();
  };
  EXPECT_TRUE(runs(R"(echo '{"benchmarks": [{}]}')"));
  EXPECT_FALSE(runs(R"(echo '{"benchmarks": [{}]}'; exit 1)"));
  EXPECT_FALSE(runs(R"(echo '{"benchmarks": []}')"));
  EXPECT_FALSE(runs("echo '{}'"));
  EXPECT_FALSE(runs("echo 'Failed to match any benchmarks'"));
}

// How lines answer to what a case has measured.
RunCase that_measures(nlohmann::json result) {
  return [result = std::move(result)](const std::string&) {
    return std::optional(MeasuredCase{.result = result, .peak_gib = 0.1});
  };
}

std::vector<Benchmark> single_lines(const RunCase& runner) {
  std::vector<Benchmark> lines = exploration_benchmarks(runner);
  lines.push_back(reduction_benchmark(runner));
  lines.push_back(recording_benchmark(runner));
  return lines;
}

TEST(BenchmarkCases, AreUndecidedIfTheyAreNotBuilt) {
  const RunCase none = [](const std::string&) { return std::optional<MeasuredCase>(); };
  std::vector<Benchmark> lines = message_benchmarks(none);
  for (const Benchmark& line : single_lines(none)) lines.push_back(line);
  for (const Benchmark& line : lines) {
    const Measurement measurement = line.measure();
    EXPECT_EQ(measurement.holds, std::nullopt) << line.work;
    EXPECT_EQ(measurement.measured, "gangsim_benchmarks is not built") << line.work;
    EXPECT_NE(measurement.bar, "") << line.work;
  }
}

TEST(BenchmarkCases, ACaseThatFailsMissesItsBarAndSaysWhy) {
  for (const Benchmark& line : message_benchmarks(
           that_measures({{"error_message", "it hangs"}, {"real_time", 0}, {"json_mib", 0}}))) {
    const Measurement measurement = line.measure();
    EXPECT_EQ(measurement.holds, false) << line.work;
    EXPECT_EQ(measurement.details, "it hangs") << line.work;
  }
  for (const Benchmark& line :
       message_benchmarks(that_measures({{"real_time", 10}, {"json_mib", 1}})))
    EXPECT_EQ(line.measure().holds, true) << line.work;
}

TEST(BenchmarkCases, MoreSchedulesAndHigherSharesAreBetterAndLongerCallsWorse) {
  const auto verdicts = [](double speed, double ns) {
    std::vector<bool> held;
    for (const Benchmark& line : single_lines(that_measures({{"items_per_second", speed * 3e5},
                                                             {"contested_choices", speed * 1e6},
                                                             {"slowest_share", speed * 0.8},
                                                             {"label", "max of f16"},
                                                             {"real_time", ns}})))
      held.push_back(line.measure().holds.value());
    return held;
  };
  EXPECT_EQ(verdicts(1, 49), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(verdicts(0.9, 50), (std::vector<bool>{false, false, false, false}));
}

}  // namespace
}  // namespace gang::tools
