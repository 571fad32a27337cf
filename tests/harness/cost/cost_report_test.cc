#include "harness/cost/cost_report.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang::harness {
namespace {

// Two steps on two ranks; rank 1 has one more message.
CostReport example() {
  const OperationCount reductions{.gang = "dp",
                                  .size = 2,
                                  .link = Link::inter_node,
                                  .kind = OperationKind::all_reduce,
                                  .calls = 4,
                                  .bytes = 4096,
                                  .seconds = 0.004};
  const OperationCount messages{.gang = "a_long_name",
                                .size = 2,
                                .link = Link::intra_node,
                                .kind = OperationKind::send,
                                .calls = 1,
                                .bytes = 100,
                                .seconds = 0.001};
  return make_cost_report("example", 2, {}, {{reductions}, {messages, reductions}});
}

TEST(CostReport, SumsAndFindsTheSlowestRank) {
  const CostReport report = example();
  EXPECT_EQ(report.slowest_rank, 1);
  EXPECT_DOUBLE_EQ(report.slowest_seconds, 0.005);
  ASSERT_EQ(report.all_ranks.size(), 2U);
  EXPECT_EQ(report.all_ranks[1].calls, 8U);
  EXPECT_EQ(report.all_ranks[1].bytes, 8192);
}

TEST(CostReport, OfEquallySlowRanksTheFirstIsNamed) {
  const OperationCount sums{
      .gang = "dp", .size = 3, .kind = OperationKind::all_reduce, .calls = 1, .seconds = 0.5};
  const OperationCount fewer{
      .gang = "dp", .size = 3, .kind = OperationKind::all_reduce, .calls = 1, .seconds = 0.25};
  EXPECT_EQ(make_cost_report("example", 1, {}, {{sums}, {sums}, {sums}}).slowest_rank, 0);
  EXPECT_EQ(make_cost_report("example", 1, {}, {{fewer}, {sums}, {sums}}).slowest_rank, 1);
}

TEST(CostReport, IsATablePerStep) {
  const std::string text = to_string(example());
  EXPECT_THAT(text, testing::StartsWith(R"(Cost of a step: example, world 2, 2 steps

  Rank 1, the slowest: 2.50 ms

  gang      size link  operation         calls      bytes on the bus      time
  a_long_~     2 intra send                0.5       50 B       50 B  500.0 us
  dp           2 inter all_reduce            2      2 KiB      2 KiB   2.00 ms
  all                                      2.5    2.0 KiB    2.0 KiB   2.50 ms

  All ranks together

)"));
  EXPECT_THAT(text, testing::HasSubstr("L:B is 3us:300GB/s within 8 consecutive ranks"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(CostReport, IsJsonOfTheWholeRun) {
  const nlohmann::json json = to_json(example());
  EXPECT_EQ(json["format"], "gangsim cost");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["steps"], 2);
  EXPECT_EQ(json["slowest_rank"]["rank"], 1);
  EXPECT_EQ(json["slowest_rank"]["operations"][0]["gang"], "a_long_name");
  EXPECT_EQ(json["all_ranks"]["calls"], 9);
  EXPECT_EQ(json["all_ranks"]["bytes"], 8292);
  EXPECT_EQ(json["all_ranks"]["operations"][1]["bus_bytes"], 8192);
  EXPECT_EQ(json["slowest_rank"]["operations"][0]["seconds"], 0.001);
  EXPECT_EQ(json["slowest_rank"]["seconds"], 0.005);
  EXPECT_EQ(json["model"]["ranks_per_node"], 8);
}

TEST(CostReport, ARunWithoutStepsIsOneStep) {
  EXPECT_EQ(make_cost_report("example", 0, {}, {{}}).steps, 1);
}

std::string row_of(const OperationCount& count) {
  const std::string text = to_string(make_cost_report("example", 1, {}, {{count}}));
  const std::size_t begin = text.find("\n  " + count.gang.substr(0, 7)) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(CostReport, UnitsBeginWhereTheyAreWhole) {
  OperationCount count{.gang = "just_8_x",
                       .size = 2,
                       .kind = OperationKind::send,
                       .calls = 1,
                       .bytes = 1024,
                       .seconds = 1e-3};
  EXPECT_EQ(row_of(count),
            "  just_8_x     2 intra send                  1      1 KiB      1 KiB   1.00 ms");
  count.gang = "just_9_xx";
  count.bytes = 1023;
  count.seconds = 1;
  EXPECT_EQ(row_of(count),
            "  just_9_~     2 intra send                  1     1023 B     1023 B    1.00 s");
}

TEST(CostReport, TheModelOfEachLinkIsItsOwn) {
  const CostModel model{.intra_node = {1e-6, 2e9}, .inter_node = {3e-6, 4e9}};
  const nlohmann::json json = to_json(make_cost_report("example", 1, model, {{}}))["model"];
  EXPECT_EQ(json["intra_node"]["latency_seconds"], 1e-6);
  EXPECT_EQ(json["intra_node"]["bytes_per_second"], 2e9);
  EXPECT_EQ(json["inter_node"]["latency_seconds"], 3e-6);
  EXPECT_EQ(json["inter_node"]["bytes_per_second"], 4e9);
}

TEST(CostReport, TheLargestUnitIsThePebibyte) {
  EXPECT_EQ(row_of({.gang = "just_8_x",
                    .size = 2,
                    .kind = OperationKind::send,
                    .calls = 1,
                    .bytes = std::int64_t{1} << 60,
                    .seconds = 1}),
            "  just_8_x     2 intra send                  1   1024 PiB   1024 PiB    1.00 s");
}

TEST(CostReport, TheBytesOnTheBusAreThoseOfAllOperations) {
  const OperationCount reductions{
      .gang = "dp", .size = 4, .kind = OperationKind::all_reduce, .calls = 1, .bytes = 1000};
  const OperationCount gathers{
      .gang = "dp", .size = 4, .kind = OperationKind::all_gather, .calls = 1, .bytes = 100};
  const nlohmann::json json = to_json(make_cost_report("example", 1, {}, {{reductions, gathers}}));
  EXPECT_EQ(json["all_ranks"]["bytes"], 1100);
  EXPECT_EQ(json["all_ranks"]["bus_bytes"], 1500 + 75);
  EXPECT_EQ(json["slowest_rank"]["bus_bytes"], 1500 + 75);
}

}  // namespace
}  // namespace gang::harness
