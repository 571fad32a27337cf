#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_ring(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(ring_program(),
             {.program = "ring", .world_size = world_size, .parameters = std::move(parameters)});
}

TEST(Ring, HoldsWithOtherParameters) {
  const RunResult result = run_ring({{"count", "0"}, {"iterations", "9"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Ring, NeedsNoBufferedSends) {
  for (const int world_size : {1, 2, 3, 4, 5}) {
    EXPECT_TRUE(run_ring({{"iterations", "3"}}, world_size).holds()) << world_size;
  }
}

}  // namespace
}  // namespace gang::harness
