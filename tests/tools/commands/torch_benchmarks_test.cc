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
  // gangsim is looked for beside the running binary, and this is a test's.
  for (const Benchmark& line : torch_benchmarks()) {
    const Measurement measurement = line.measure();
    EXPECT_EQ(measurement.holds, std::nullopt) << line.work;
    EXPECT_FALSE(measurement.measured.empty()) << line.work;
    EXPECT_FALSE(measurement.bar.empty()) << line.work;
  }
}

}  // namespace
}  // namespace gang::tools
