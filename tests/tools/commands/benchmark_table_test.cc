#include "tools/commands/benchmark_table.h"

#include <algorithm>

#include <gtest/gtest.h>

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
    EXPECT_NE(std::string(error.what()).find("--filter 'glue' matches no line"), std::string::npos)
        << error.what();
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

}  // namespace
}  // namespace gang::tools
