#include "sim/report/crossed_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

CrossedCalls some_crossing() {
  const CallText call{.kind = "all_reduce", .sequence = 1, .payload = "sum f32[3]"};
  return {
      .most = {.ranks = {0, 1, 3}, .gang = {"dp", "0-3"}, .call = call, .location = {"a.py", 5}},
      .others = {.ranks = {2}, .gang = {"dp", "0-3"}, .call = call, .location = {"a.py", 6}},
      .second = 4};
}

TEST(CrossedCalls, SayWhoCalledWhatInWhichOrder) {
  const std::string text = to_string(std::vector{some_crossing()});
  EXPECT_THAT(text, HasSubstr("Rank 2 called all_reduce #1 on dp[0-3] at a.py:6 and #4 at a.py:5"));
  EXPECT_THAT(text, HasSubstr("ranks 0-1,3 called them the other way round"));
}

TEST(CrossedCalls, OfSeveralTheFirstIsShown) {
  EXPECT_THAT(to_string(std::vector{some_crossing(), some_crossing(), some_crossing()}),
              EndsWith(" And 2 more such."));
  EXPECT_EQ(to_string(std::vector<CrossedCalls>()), "");
}

}  // namespace
}  // namespace gang::sim
