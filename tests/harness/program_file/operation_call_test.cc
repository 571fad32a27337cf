#include "harness/program_file/operation_call.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/program/contribution.h"
#include "tests/harness/program_file/program_file_testing.h"

namespace gang::harness::program_file {
namespace {

constexpr Place call_place{"suspect.toml", 6, 1};

TEST(OperationCall, EvaluatesItsArgumentsForTheRank) {
  const auto gang = make_fake_gang({.rank = 1, .size = 4});
  const Call call = parse_call("root all_gather i32[rank + 1]", call_place);
  OperationCall operation{call, *gang, {.rank = 1, .world = 4}};
  operation.perform().wait();
  ASSERT_EQ(operation.outputs().size(), 1U);
  EXPECT_EQ(operation.outputs()[0].count(), 8);
}

TEST(OperationCall, FillsInputsWithContributions) {
  const auto gang = make_fake_gang({.size = 1});
  const Call call = parse_call("a = root start all_reduce sum f32[10]", call_place);
  OperationCall operation{call, *gang, {}};
  operation.perform().wait();
  EXPECT_TRUE(is_reduction(operation.outputs()[0], ReduceOperation::sum, 1));
}

TEST(OperationCall, RejectsImpossibleSizes) {
  const auto gang = make_fake_gang({.size = 1});
  const Call negative = parse_call("root all_reduce sum f32[rank - 1]", call_place);
  EXPECT_THAT([&] { OperationCall(negative, *gang, {}); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("suspect.toml:6:1: tensor extent is -1; must be 0 to")));
  const Call far = parse_call("root broadcast f32[1] root 4294967296", call_place);
  OperationCall operation{far, *gang, {}};
  EXPECT_THROW(operation.perform(), InvalidArgument);
}

TEST(OperationCall, PerformsEveryOperationInBothForms) {
  const RunResult result = run_text(R"(
world = 4
[[do]]
calls = [
  "root all_reduce bxor u8[3]", "root scan max f64[3]", "root exclusive_scan sum i32[2]",
  "root all_gather f32[rank] counts [0, 1, 2, 3]", "root all_gather f32[0] counts [0, 0, 0, 0]",
  "root reduce max f64[3] root 1", "root reduce_scatter sum i64[2]",
  "root all_gather f16[2,2]", "root all_gather_to_list bool[3]", "root gather f32[3] root 2",
  "root scatter f32[3] root 3", "root all_to_all bf16[8]", "root broadcast f32[0] root 1",
  "root broadcast_objects 2 root 1", "root barrier label \"here\"",
  "root monitored_barrier timeout 1 s all",
  "root batch send f32[4] to (rank + 1) % world tag 2, recv f32[4] from (rank - 1) % world tag 2",
  "root create_gang [3, 0] as ends", "root split color rank % 2 key -rank as half",
  "half all_reduce mean f32[8]",
  "a = root start all_reduce min i8[3]", "b = root start reduce product i32[3]",
  "c = root start reduce_scatter band u32[2]", "d = root start all_gather f32[2]",
  "e = root start all_gather_to_list f32[3]", "f = root start gather f32[3] root 2",
  "g = root start scatter f32[3] root 3", "h = root start all_to_all f32[8]",
  "i = root start broadcast f32[1]", "j = root start barrier",
  "l = root start scan sum f32[2]", "m = root start exclusive_scan min i8[2]",
  "n = root start all_gather f32[rank + 1] counts [1, 2, 3, 4]",
  "k = root start batch send f32[4] to (rank + 1) % world, recv f32[4] from any",
  "wait a b c d e f g h i j k l m n",
]
[[do]]
ranks = [0, 3]
calls = ["ends barrier"]
[[do]]
ranks = [0]
calls = ["s = root start send f32[1] to 1 tag 4", "wait s"]
[[do]]
ranks = [1]
calls = ["r = root start recv f32[1] from any tag any", "wait r"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(OperationCall, ATensorIsLimitedByAllItsElements) {
  const auto gang = make_fake_gang({.size = 1});
  for (const char* text : {"root broadcast u8[2147483649]", "root broadcast u8[65536,65536]"}) {
    const Call call = parse_call(text, call_place);
    EXPECT_THROW(OperationCall(call, *gang, {}), InvalidArgument) << text;
  }
}

TEST(OperationCall, AnInputIsTheContributionOfItsRankInTheWorld) {
  const auto gang = make_fake_gang({.rank = 1, .size = 2});
  const Call call = parse_call("root broadcast i32[3] root 1", call_place);
  const OperationCall operation{call, *gang, {.rank = 3, .world = 4}};
  std::vector<std::int32_t> expected(3);
  fill_contribution(view(expected), call.reduce_operation, 3);
  std::vector<std::int32_t> found(3);
  std::memcpy(found.data(), operation.outputs()[0].data(), 3 * sizeof(std::int32_t));
  EXPECT_EQ(found, expected);
}

TEST(OperationCall, NoNumberOfARankMeansAnyRank) {
  const auto gang = make_fake_gang({.size = 1});
  const Call call = parse_call("root recv f32[1] from -2147483648", call_place);
  OperationCall operation{call, *gang, {}};
  EXPECT_THAT([&] { operation.perform(); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("does not fit")));
}

TEST(OperationCall, TheNumberOfObjectsIsLimited) {
  const auto gang = make_fake_gang({.size = 1});
  const Call call = parse_call("root broadcast_objects 1000001", call_place);
  OperationCall operation{call, *gang, {}};
  EXPECT_THROW(operation.perform(), InvalidArgument);
}

TEST(OperationCall, AMessageOfABatchHasItsTag) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [0]
calls = ["root batch send f32[4] to 1 tag 2"]
[[do]]
ranks = [1]
calls = ["root recv f32[4] from 0 tag 2"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(OperationCall, ATimeoutIsThatOfTheCall) {
  for (const std::string call :
       {"root monitored_barrier timeout 1 s", "root broadcast_objects 2 root 1 timeout 1 s"}) {
    const RunResult result =
        run_text("world = 2\n[[do]]\nranks = [0]\ncalls = ['" + call +
                 "']\n[[do]]\nranks = [1]\ncalls = ['sleep 3 s', '" + call + "']\n");
    ASSERT_FALSE(result.report.findings.empty()) << call;
    EXPECT_EQ(result.report.findings[0].id, "timed_out") << call;
  }
}

TEST(OperationCall, ObjectsHaveTheLabelOfTheirCall) {
  const RunResult result = run_text(R"(
world = 2
[[do]]
ranks = [0]
calls = ['root broadcast_objects 2 label "a"']
[[do]]
ranks = [1]
calls = ['root broadcast_objects 2 label "b"']
)");
  ASSERT_FALSE(result.report.findings.empty());
  EXPECT_EQ(result.report.findings[0].id, "mismatch_label");
}

TEST(OperationCall, TheKeysOfASplitOrderItsRanks) {
  const RunResult result = run_text(R"(
world = 3
[[do]]
calls = ["root split color 0 key -rank as back"]
[[do]]
ranks = [0]
calls = ["back send f32[1] to 0"]
[[do]]
ranks = [2]
calls = ["back recv f32[1] from 2"]
)");
  EXPECT_TRUE(result.holds()) << to_string(result);
}

}  // namespace
}  // namespace gang::harness::program_file
