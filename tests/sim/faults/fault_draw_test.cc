// From what may go wrong to what goes wrong in one run.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;

TEST(FaultDraw, IsAFunctionOfPlanSeedAndWorld) {
  const FaultPlan plan = fault_preset("swarm");
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const FaultPlan drawn = draw(plan, seed, 8);
    EXPECT_EQ(drawn, draw(plan, seed, 8));
    check_drawn(drawn);
    std::string text;
    for (const Fault& fault : drawn.faults) text += to_string(fault) + "; ";
    texts.insert(text);
  }
  EXPECT_GT(texts.size(), 40u);
}

TEST(FaultDraw, ADrawnPlanDrawsItself) {
  const FaultPlan drawn = draw(fault_preset("production"), 3, 16);
  EXPECT_EQ(draw(drawn, 7, 16), drawn);
}

TEST(FaultDraw, NodesAreBlocksOfRanks) {
  const FaultPlan plan{.faults = {{.kind = FaultKind::crash, .ranks = {7}, .nodes = {0}},
                                  {.kind = FaultKind::crash, .nodes = {2}}},
                       .ranks_per_node = 3};
  const FaultPlan drawn = draw(plan, 1, 8);
  EXPECT_THAT(drawn.faults[0].ranks, ElementsAre(0, 1, 2, 7));
  EXPECT_THAT(drawn.faults[1].ranks, ElementsAre(6, 7)) << "the last node may be smaller";
}

TEST(FaultDraw, EveryRankIsDrawnAboutAsOften) {
  const FaultPlan plan{.faults = {{.kind = FaultKind::stall}}};
  std::map<int, int> counts;
  for (std::uint64_t seed = 0; seed < 4000; ++seed)
    ++counts[draw(plan, seed, 4).faults[0].ranks[0]];
  for (int rank = 0; rank < 4; ++rank) EXPECT_NEAR(counts[rank], 1000, 150);
}

TEST(FaultDraw, ChancesAndWeightsAreKept) {
  const FaultPlan chance{.faults = {{.kind = FaultKind::stall, .chance = 0.25}}};
  const FaultPlan picked{
      .faults = {{.kind = FaultKind::stall, .weight = 3}, {.kind = FaultKind::crash, .weight = 1}},
      .selection = FaultSelection::picked,
      .mean = 2};
  double some = 0;
  double all = 0;
  double stalls = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    some += static_cast<double>(draw(chance, seed, 4).faults.size());
    for (const Fault& fault : draw(picked, seed, 4).faults) {
      ++all;
      stalls += fault.kind == FaultKind::stall ? 1 : 0;
    }
  }
  EXPECT_NEAR(some / 4000, 0.25, 0.03);
  EXPECT_NEAR(all / 4000, 2, 0.1);
  EXPECT_NEAR(stalls / all, 0.75, 0.03);
}

TEST(FaultDraw, RangesAreDrawnToTheirEnds) {
  const FaultPlan plan{.faults = {{.kind = FaultKind::stall,
                                   .trigger = {.operation = {{2, 4}}, .moment = FaultMoment::any},
                                   .lasts = {{1s, 3s}}}}};
  std::set<std::uint64_t> operations;
  std::set<FaultMoment> moments;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Fault fault = draw(plan, seed, 4).faults[0];
    operations.insert(fault.trigger.operation->least);
    moments.insert(fault.trigger.moment);
    EXPECT_TRUE(fault.lasts->is_fixed() && fault.lasts->least >= 1s && fault.lasts->most <= 3s);
  }
  EXPECT_THAT(operations, ElementsAre(2, 3, 4));
  EXPECT_EQ(moments.size(), 3u);
}

TEST(FaultDraw, ALinkWithoutOtherEndsGoesToEveryoneElse) {
  const FaultPlan plan{.faults = {{.kind = FaultKind::partition, .ranks = {1, 2}}}};
  EXPECT_THAT(draw(plan, 1, 5).faults[0].to, ElementsAre(0, 3, 4));
}

}  // namespace
}  // namespace gang::sim
