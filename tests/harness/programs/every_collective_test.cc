#include <algorithm>

#include <gmock/gmock.h>
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

// What rank `victim` of three says is wrong if the result of its first, second, ... operation is.
std::vector<std::string> noticed_by(int victim) {
  std::vector<std::string> noticed;
  for (std::uint64_t operation = 0;; ++operation) {
    sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {victim}};
    fault.trigger.operation = operation;
    RunSpecification specification{.program = "every_collective", .world_size = 3};
    specification.faults = sim::FaultPlan{.faults = {fault}};
    const RunResult result = run(every_collective_program(), specification);
    if (result.report.faults.empty()) return noticed;
    const std::string message =
        result.report.findings.empty() ? "nothing" : result.report.findings[0].message;
    noticed.push_back(message.substr(0, message.find(" returned ")));
  }
}

TEST(EveryCollective, NamesTheOperationWhoseResultIsWrong) {
  using testing::ElementsAre;
  EXPECT_THAT(noticed_by(0),
              ElementsAre("all_reduce", "all_reduce", "reduce_scatter", "reduce_scatter",
                          "all_gather", "all_gather_to_list", "all_gather", "all_gather_to_list",
                          "all_gather with counts", "all_gather with counts", "gather", "gather",
                          "scatter", "scatter", "all_to_all", "all_to_all", "broadcast",
                          "broadcast", "all_sum", "recv", "start_recv", "mirrored sum"));
  EXPECT_THAT(noticed_by(1),
              ElementsAre("all_reduce", "all_reduce", "reduce_scatter", "reduce_scatter",
                          "all_gather", "all_gather_to_list", "all_gather", "all_gather_to_list",
                          "all_gather with counts", "all_gather with counts", "scatter", "scatter",
                          "all_to_all", "all_to_all", "broadcast_flag", "all_sum", "recv",
                          "start_recv", "mirrored sum"));
  EXPECT_THAT(
      noticed_by(2),
      ElementsAre("all_reduce", "all_reduce", "reduce", "reduce", "reduce_scatter",
                  "reduce_scatter", "all_gather", "all_gather_to_list", "all_gather",
                  "all_gather_to_list", "all_gather with counts", "all_gather with counts",
                  "scatter", "scatter", "all_to_all", "all_to_all", "broadcast", "broadcast",
                  "broadcast_flag", "all_sum", "recv", "start_recv", "mirrored sum"));
}

TEST(EveryCollective, PutsOutTheResultOfEachForm) {
  const RunResult result =
      run(every_collective_program(), {.program = "every_collective", .world_size = 2},
          {.outputs = KeepOutputs::data});
  std::vector<std::string> names;
  for (const Output& output : result.outputs.by_rank.at(1)) names.push_back(output.name);
  EXPECT_THAT(names,
              testing::ElementsAre("all_reduce", "all_reduce", "reduce", "reduce", "reduce_scatter",
                                   "reduce_scatter", "scan", "scan", "all_gather", "all_gather",
                                   "all_gather with counts", "all_gather with counts", "gather",
                                   "gather", "scatter", "scatter", "all_to_all", "all_to_all",
                                   "broadcast", "broadcast", "recv", "batch", "batch"));
}

}  // namespace
}  // namespace gang::harness
