#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_data_parallel_step(std::map<std::string, std::string> parameters,
                                 int world_size = 8) {
  return run(data_parallel_step_program(), {.program = "data_parallel_step",
                                            .world_size = world_size,
                                            .parameters = std::move(parameters)});
}

TEST(DataParallelStep, HoldsWithOtherParameters) {
  const RunResult result = run_data_parallel_step({{"samples", "7"}, {"hidden", "33"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(DataParallelStep, RefusesABatchBeyondItsLimit) {
  EXPECT_THROW(run_data_parallel_step({{"samples", "4096"}}, 2048), InvalidArgument);
}

TEST(DataParallelStep, TakesABatchOfItsLimit) {
  const Program program = data_parallel_step_program();
  const auto validate = [&program](int world_size, const char* samples) {
    program.validate(world_size, ParameterValues{program.parameters, {{"samples", samples}}});
  };
  EXPECT_NO_THROW(validate(1024, "4096"));
  EXPECT_THROW(validate(2113, "1985"), InvalidArgument);  // one sample more
}

// Each step reduces the gradients of two layers.
TEST(DataParallelStep, AWrongGradientOfEitherLayerIsFound) {
  for (const std::uint64_t operation : {0U, 1U, 2U, 3U}) {
    sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {2}};
    fault.trigger.operation = operation;
    RunSpecification specification{.program = "data_parallel_step", .world_size = 4};
    specification.faults = sim::FaultPlan{.faults = {fault}};
    const RunResult result = run(data_parallel_step_program(), specification);
    ASSERT_FALSE(result.report.findings.empty()) << operation;
    EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
    EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("gradient"));
  }
}

TEST(DataParallelStep, GivesEveryRankTheSameGradient) {
  const RunResult result =
      run(data_parallel_step_program(), {.program = "data_parallel_step", .world_size = 3},
          {.outputs = KeepOutputs::data});
  for (const auto& outputs : result.outputs.by_rank) {
    EXPECT_EQ(outputs, result.outputs.by_rank.front());
  }
}

// Rank 1 dies in a step that some have taken and others have not; they go on from the same one.
TEST(DataParallelStep, SurvivorsGoOnWithACommonStep) {
  for (const std::uint64_t operation : {2U, 3U, 4U})
    for (const std::vector<int>& told : {std::vector{0}, std::vector{2}, std::vector{0, 2, 3}}) {
      sim::Fault fault{
          .kind = sim::FaultKind::crash, .ranks = {1}, .notice = Duration(1), .error_at = told};
      fault.trigger.operation = operation;
      fault.trigger.moment = sim::FaultMoment::inside;
      RunSpecification specification{
          .program = "data_parallel_step", .world_size = 4, .parameters = {{"steps", "4"}}};
      specification.faults = sim::FaultPlan{.faults = {fault}};
      const RunResult result =
          run(data_parallel_step_program(), specification, {.outputs = KeepOutputs::data});
      EXPECT_EQ(result.uncontained, "") << to_string(result);
      for (const sim::Finding& finding : result.report.findings)
        EXPECT_EQ(finding.id, sim::finding_id::rank_failed) << to_string(result);
      ASSERT_EQ(result.outputs.by_rank[0].size(), 2U) << to_string(result);
      EXPECT_EQ(result.outputs.by_rank[0][0].name, "first after a failure");
      for (const int rank : {2, 3})
        EXPECT_EQ(result.outputs.by_rank[static_cast<std::size_t>(rank)],
                  result.outputs.by_rank[0]);
    }
}

TEST(DataParallelStep, ARefusalSaysTheSizeOfTheBatch) {
  EXPECT_THAT([] { run_data_parallel_step({{"samples", "4096"}}, 2048); },
              testing::ThrowsMessage<InvalidArgument>(
                  "samples 4096 times world 2048 is 8388608; must be at most 4194304"));
}

TEST(DataParallelStep, AValueThatIsNoNumberIsFoundWhereverItIs) {
  for (std::size_t place = 0; place < 16 * 8; ++place) {  // of the first layer
    const Program wrong =
        altered(data_parallel_step_program(), {.after = [place](const Gang&, Operation& operation) {
                  const float no_number = std::numeric_limits<float>::quiet_NaN();
                  if (operation.output.count() == 16 * 8)
                    std::memcpy(operation.output.data() + place * sizeof no_number, &no_number,
                                sizeof no_number);
                }});
    const RunResult result = run(wrong, {.program = "data_parallel_step", .world_size = 2});
    ASSERT_EQ(result.report.findings.size(), 1U) << place;
    EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
  }
}

}  // namespace
}  // namespace gang::harness
