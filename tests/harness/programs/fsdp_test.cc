#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/altered_program.h"

namespace gang::harness {
namespace {

RunResult run_fsdp(std::map<std::string, std::string> parameters, int world_size = 8) {
  return run(fsdp_program(),
             {.program = "fsdp", .world_size = world_size, .parameters = std::move(parameters)},
             {.outputs = KeepOutputs::data});
}

std::string refusal_of_fsdp(std::map<std::string, std::string> parameters, int world_size = 8) {
  try {
    run_fsdp(std::move(parameters), world_size);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Fsdp, EqualsOneProcessWhereverShardsAre) {
  for (const char* intra_node : {"0", "2", "4", "8"}) {
    const RunResult result = run_fsdp({{"intra_node", intra_node}, {"hidden", "11"}});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(Fsdp, EqualsOneProcessForALanguageModel) {
  const RunResult result = run_fsdp({{"model", "transformer"}, {"layers", "2"}, {"units", "5"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Fsdp, KeepsToItsMemoryPlanWithAndWithoutPrefetch) {
  for (const char* units : {"1", "2", "5"}) {
    for (const char* prefetch : {"true", "false"}) {
      const RunResult result = run_fsdp({{"units", units}, {"prefetch", prefetch}}, 3);
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

// The number of elements in the shards that a rank outputs.
std::int64_t shard_elements(const std::vector<Output>& outputs) {
  std::int64_t count = 0;
  for (const Output& output : outputs)
    if (output.name == "shard") count += output.count;
  return count;
}

TEST(Fsdp, ARankHasAPartOfTheModel) {
  const std::int64_t whole = shard_elements(run_fsdp({}, 1).outputs.by_rank[0]);
  const std::int64_t part = shard_elements(run_fsdp({}, 8).outputs.by_rank[3]);
  EXPECT_GE(part * 8, whole);
  EXPECT_LE(part * 8, whole + 3 * 7);
}

TEST(Fsdp, ReplicasHaveEqualShards) {
  const RunResult result = run_fsdp({{"intra_node", "4"}});
  EXPECT_EQ(result.outputs.by_rank[1], result.outputs.by_rank[5]);
  EXPECT_NE(result.outputs.by_rank[1], result.outputs.by_rank[2]);
}

TEST(Fsdp, ListsThePossibleSizes) {
  EXPECT_EQ(refusal_of_fsdp({{"intra_node", "3"}}),
            "intra_node is 3 and dp is 8; must be one of: 0, 2, 4, 8");
  EXPECT_EQ(refusal_of_fsdp({{"intra_node", "1"}}),
            "intra_node is 1 and dp is 8; must be one of: 0, 2, 4, 8");
  EXPECT_EQ(refusal_of_fsdp({{"units", "6"}}),
            "units is 6; must be 1 to 5, the layers of the model");
}

TEST(Fsdp, APrefetchIsAnotherOrderOfCalls) {
  const RunResult with = run_fsdp({{"prefetch", "true"}});
  const RunResult without = run_fsdp({{"prefetch", "false"}});
  EXPECT_EQ(with.outputs.digest, without.outputs.digest);
  EXPECT_NE(with.report.trace.digest, without.report.trace.digest);
}

TEST(Fsdp, MayTakeNoStep) {
  const RunResult result = run_fsdp({{"steps", "0"}});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// The calls of rank 0 of a run without comparison.
std::vector<HeardCall> calls_of_fsdp(std::map<std::string, std::string> parameters) {
  std::vector<HeardCall> calls;
  parameters["compare"] = "false";
  const RunResult result =
      run(heard(fsdp_program(), calls),
          {.program = "fsdp", .world_size = 2, .parameters = std::move(parameters)});
  EXPECT_TRUE(result.holds()) << to_string(result);
  std::erase_if(calls, [](const HeardCall& call) { return call.rank != 0; });
  return calls;
}

TEST(Fsdp, TheLastUnitIsGatheredOnceForBothPasses) {
  for (const char* prefetch : {"true", "false"}) {
    const auto calls = calls_of_fsdp({{"units", "3"}, {"steps", "2"}, {"prefetch", prefetch}});
    EXPECT_EQ(std::ranges::count(calls, OperationKind::all_gather, &HeardCall::kind), 2 * (3 + 2));
  }
}

TEST(Fsdp, AWrongValueIsFoundAfterTheStep) {
  sim::Fault fault{.kind = sim::FaultKind::corrupt_result, .ranks = {0}};
  fault.trigger.operation = 1;  // gathered for the step, then to compare
  fault.trigger.during = OperationKind::all_gather;
  RunSpecification specification{
      .program = "fsdp", .world_size = 4, .parameters = {{"units", "1"}, {"steps", "1"}}};
  specification.faults = sim::FaultPlan{.faults = {fault}};
  const RunResult result = run(fsdp_program(), specification);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
}

TEST(Fsdp, AReplicaWithAnotherShardIsFoundWithoutTheComparison) {
  const Program wrong =
      altered(fsdp_program(), {.after = [](const Gang& gang, Operation& operation) {
                const double other = 1e6;
                if (gang.rank() == 0 && operation.collective.label == "gradients of replicas")
                  std::memcpy(operation.output.data(), &other, sizeof other);
              }});
  const RunResult result =
      run(wrong, {.program = "fsdp",
                  .world_size = 4,
                  .parameters = {{"intra_node", "2"}, {"compare", "false"}, {"steps", "1"}}});
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message, testing::HasSubstr("a shard differs between"));
}

TEST(Fsdp, RefusesABatchBeyondItsLimit) {
  const Program program = fsdp_program();
  const auto validate = [&program](int world_size) {
    program.validate(world_size, ParameterValues{program.parameters, {{"samples", "256"}}});
  };
  EXPECT_NO_THROW(validate(64));
  EXPECT_THROW(validate(128), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
