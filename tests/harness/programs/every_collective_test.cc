#include <algorithm>
#include <deque>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

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

// The findings of a run of three ranks in which rank 1 of a gang gets another answer.
std::vector<std::string> said_if(Alteration alteration) {
  const RunResult result = run(altered(every_collective_program(), std::move(alteration)),
                               {.program = "every_collective", .world_size = 3});
  std::vector<std::string> messages;
  for (const sim::Finding& finding : result.report.findings) messages.push_back(finding.message);
  return messages;
}

// A copy of the operation's extras that an Alteration may change; kept for good.
OperationExtras& own_extras(Operation& operation) {
  static std::deque<OperationExtras> kept;
  operation.extras = &kept.emplace_back(*operation.extras);
  return kept.back();
}

// Changes the first byte of what `rank` gets from blocking calls of this kind.
Alteration wrong_result_of(OperationKind kind, int rank) {
  return {.after = [kind, rank](const Gang& gang, Operation& operation) {
    if (gang.rank() != rank || gang.name() != "root" || operation.collective.kind != kind) return;
    const Elements& place = operation.output.data() == nullptr ? operation.input : operation.output;
    std::byte* result = place.data();
    if (kind == OperationKind::batch)
      for (const PointToPoint& entry : operation.extras->batch)
        if (entry.kind == OperationKind::recv) result = entry.tensor.data();
    *result ^= std::byte{1};
  }};
}

TEST(EveryCollective, SaysOnWhichRankOfWhichGangAResultIsWrong) {
  const auto wrong = [](const char* what, int rank) {
    return std::vector<std::string>{
        fmt::format("{} returned a wrong result on rank {} of root.", what, rank)};
  };
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::all_reduce, 2)), wrong("all_reduce", 2));
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::reduce, 0)), wrong("reduce", 0));
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::scan, 1)), wrong("scan", 1));
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::exclusive_scan, 1)), wrong("exclusive_scan", 1));
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::exclusive_scan, 0)), wrong("exclusive_scan", 0));
  EXPECT_EQ(said_if(wrong_result_of(OperationKind::batch, 1)), wrong("batch", 1));
}

TEST(EveryCollective, SaysThatObjectsSourcesAndGangsAreWrong) {
  using testing::Each;
  using testing::ElementsAre;
  using testing::StartsWith;
  EXPECT_THAT(said_if({.after =
                           [](const Gang& gang, Operation& operation) {
                             if (gang.rank() == 1 && operation.extras->packed != nullptr)
                               std::ranges::replace(*operation.extras->packed, std::byte{'b'},
                                                    std::byte{'c'});
                           }}),
              ElementsAre(StartsWith("broadcast_objects returned a wrong result on rank 1")));
  EXPECT_THAT(said_if({.received =
                           [](const Gang& gang, Received received) {
                             received.source_rank = gang.rank();
                             return received;
                           }}),
              ElementsAre(StartsWith("received returned a wrong result")));
  EXPECT_THAT(said_if({.before =
                           [](const Gang&, Operation& operation) {
                             static constexpr int in_order[] = {0, 1, 2};
                             if (operation.collective.kind == OperationKind::create_gang)
                               own_extras(operation).ranks = in_order;
                           }}),
              ElementsAre(StartsWith("create_gang returned a wrong result")));
  EXPECT_THAT(
      said_if({.before = [](const Gang&, Operation& operation) { own_extras(operation).key = 0; }}),
      ElementsAre(StartsWith("split returned a wrong result")));
}

TEST(EveryCollective, ClosesTheGangsThatItMade) {
  std::multiset<std::string> closed;
  run(altered(every_collective_program(),
              {.closed = [&closed](const Gang& gang) { closed.emplace(gang.name()); }}),
      {.program = "every_collective", .world_size = 3}, {.settles = false});
  EXPECT_EQ(closed.count("mirror"), 3U);
  EXPECT_EQ(closed.count("half"), 3U);
}

}  // namespace
}  // namespace gang::harness
