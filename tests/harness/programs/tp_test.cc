#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_tp(std::map<std::string, std::string> parameters, int world_size = 4) {
  return run(tp_program(),
             {.program = "tp", .world_size = world_size, .parameters = std::move(parameters)},
             {.outputs = KeepOutputs::data});
}

std::string refusal_of_tp(std::map<std::string, std::string> parameters, int world_size = 4) {
  try {
    run_tp(std::move(parameters), world_size);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tp, EqualsOneProcessForEverySizeOfTp) {
  for (const char* tp : {"1", "2", "4"}) {
    for (const char* model : {"mlp", "transformer"}) {
      const RunResult result = run_tp({{"tp", tp}, {"model", model}, {"layers", "2"}}, 8);
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

TEST(Tp, DividesTheModel) {
  const RunResult whole = run_tp({{"tp", "1"}});
  const RunResult halves = run_tp({{"tp", "2"}});
  const auto embedding = [](const RunResult& result) { return result.outputs.by_rank[0][3]; };
  EXPECT_EQ(embedding(whole).name, "embedding.weight");
  EXPECT_EQ(embedding(whole).count, 2 * embedding(halves).count);
}

TEST(Tp, ListsThePossibleSizes) {
  EXPECT_EQ(refusal_of_tp({{"tp", "3"}}), "tp 3 does not divide world 4; must be one of: 1, 2, 4");
  EXPECT_EQ(refusal_of_tp({{"tp", "8"}}, 8),
            "tp 8 does not divide the 4 heads of attention0; must be one of: 1, 2, 4");
  EXPECT_THAT(
      refusal_of_tp({{"model", "mlp"}, {"layers", "2"}, {"hidden", "9"}, {"tp", "2"}}),
      testing::HasSubstr("tp 2 does not divide the 9 outputs of linear0; must be one of: 1, 3"));
}

TEST(Tp, EveryRankKnowsTheLossOfTheWholeBatch) {
  const RunResult result = run_tp({{"tp", "2"}});
  for (const auto& outputs : result.outputs.by_rank)
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_EQ(outputs.at(step).name, "loss");
      EXPECT_EQ(outputs[step], result.outputs.by_rank[0][step]);
    }
}

// What rank 2 says differs if the result of its first, second, ... operation does.
TEST(Tp, WhatRanksShareIsCompared) {
  std::set<std::string> different;
  for (std::uint64_t operation = 0;; ++operation) {
    sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {2}};
    fault.trigger.operation = operation;
    RunSpecification specification{
        .program = "tp",
        .world_size = 4,
        .parameters = {{"tp", "2"}, {"compare", "false"}, {"steps", "1"}}};
    specification.faults = sim::FaultPlan{.faults = {fault}};
    const RunResult result = run(tp_program(), specification);
    if (result.report.faults.empty()) break;
    for (const sim::Finding& finding : result.report.findings) {
      const std::size_t begin = finding.message.find(", ") + 2;
      different.insert(finding.message.substr(begin, finding.message.find(" differs") - begin));
    }
  }
  EXPECT_THAT(different,
              testing::IsSupersetOf({"the batch", "the model", "an undivided parameter"}));
}

TEST(Tp, AnUndividedParameterThatDiffersWithinTpIsFoundWithoutTheComparison) {
  // The gradients that ranks 1 and 3 sum, the second halves of tp.
  const Program wrong =
      altered(tp_program(), {.before = [](const Gang& gang, Operation& operation) {
                if (gang.name() != "dp" || gang.info().root_ranks.front() != 1 ||
                    operation.input.type() != DataType::f64)
                  return;
                for (std::int64_t i = 0; i < operation.input.count(); ++i) {
                  double gradient = 0;
                  std::memcpy(&gradient, operation.input.data() + i * 8, sizeof gradient);
                  gradient += 1;
                  std::memcpy(operation.input.data() + i * 8, &gradient, sizeof gradient);
                }
              }});
  const RunResult result =
      run(wrong, {.program = "tp",
                  .world_size = 4,
                  .parameters = {{"tp", "2"}, {"compare", "false"}, {"steps", "1"}}});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message,
              testing::HasSubstr("an undivided parameter differs between"));
}

}  // namespace
}  // namespace gang::harness
