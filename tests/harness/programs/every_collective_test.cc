#include <algorithm>

#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

RunResult run_every_collective(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(every_collective_program(), {.program = "every_collective",
                                          .world_size = world_size,
                                          .parameters = std::move(parameters)});
}

TEST(EveryCollective, HoldsWithOtherParameters) {
  const RunResult result = run_every_collective({{"count", "0"}, {"iterations", "2"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(EveryCollective, CallsEveryOperation) {
  const RunResult result = run(every_collective_program(), {.program = "every_collective"},
                               {.trace = sim::Recording::on});
  for (const OperationKind kind : all_operation_kinds) {
    const bool is_called = std::ranges::any_of(
        result.report.trace.events,
        [kind](const sim::TraceEvent& event) { return event.call.kind == to_string(kind); });
    EXPECT_TRUE(is_called) << to_string(kind);
  }
}

TEST(EveryCollective, IteratesAsOftenAsItIsToldTo) {
  const auto operations = [](const char* iterations) {
    return run_every_collective({{"iterations", iterations}}).report.counts.rank_operations;
  };
  const std::uint64_t once = operations("2") - operations("1");
  EXPECT_GT(once, 8U * 20);
  EXPECT_EQ(operations("4"), operations("1") + 3 * once);
}

}  // namespace
}  // namespace gang::harness
