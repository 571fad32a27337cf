#include "tools/commands/torch_benchmarks.h"

#include <gtest/gtest.h>

namespace gang::tools {
namespace {

TEST(TorchBenchmarks, AllAnswerToTheFilterTorch) {
  const std::vector<Benchmark> lines = torch_benchmarks();
  EXPECT_EQ(lines.size(), 4U);
  for (const Benchmark& line : lines) EXPECT_NE(line.work.find("torch"), std::string::npos);
}

TEST(TorchBenchmarks, AreUndecidedWithAReasonWhereSomethingIsMissing) {
  // The script is looked for beside the gangsim binary, and this is a test's.
  for (const Benchmark& line : torch_benchmarks()) {
    const Measurement measurement = line.measure();
    if (measurement.holds) continue;
    EXPECT_FALSE(measurement.measured.empty()) << line.work;
  }
}

}  // namespace
}  // namespace gang::tools
