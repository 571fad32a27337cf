#include "sim/contexts/invariant.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(Invariant, OneThatHoldsDoesNothing) { GANGSIM_INVARIANT(1 + 1 == 2, "arithmetic"); }

TEST(InvariantDeathTest, OneThatIsBrokenSaysWhatAndWhereAndAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(GANGSIM_INVARIANT(1 + 1 == 3, "arithmetic"), testing::KilledBySignal(SIGABRT),
              "internal invariant broken at .*invariant_test.cc:[0-9]+: arithmetic");
}

}  // namespace
}  // namespace gang::sim
