#include "properties/generators/scripted_call.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

// What each of two ranks saw of a call.
std::vector<int> seen_by_two(const ScriptedCall& call) {
  std::vector<int> seen(2);
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    seen[static_cast<std::size_t>(rank.rank())] =
        perform(call, rank, *rank.root(), CallSite::at("call", 1));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  return seen;
}

TEST(ScriptedCall, AThreadNotifiesItsRankInTimeOrNot) {
  EXPECT_THAT(seen_by_two({.kind = ScriptedKind::signal, .count = 1}), testing::ElementsAre(1, 1));
  EXPECT_THAT(seen_by_two({.kind = ScriptedKind::signal, .count = 3}), testing::ElementsAre(0, 0));
}

TEST(ScriptedCall, WhatAllRanksMakeTogetherCompletes) {
  using enum ScriptedKind;
  for (const ScriptedKind kind :
       {barrier, reduction, two_reductions, sleep, monitored, broken_barrier, shrink})
    EXPECT_THAT(seen_by_two({.kind = kind}), testing::Each(0)) << to_text(ScriptedCall{kind});
}

TEST(ScriptedCall, IsShownWithWhatIsNotUsual) {
  EXPECT_EQ(to_text(ScriptedCall{.kind = ScriptedKind::receive, .peer = 1, .tag = 1, .count = 2}),
            "receive from 1 tag 1 of 2");
  EXPECT_EQ(to_text(ScriptedCall{.kind = ScriptedKind::shrink, .peer = 1}), "shrink");
}

}  // namespace
}  // namespace gang::properties
