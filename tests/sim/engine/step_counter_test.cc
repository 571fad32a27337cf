#include "sim/engine/step_counter.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(StepCounter, KnowsWhetherTheNextStepStops) {
  StepCounter counter({.step_limit = 3}, 2);
  for (int step = 1; step <= 4; ++step) {
    const bool stops = counter.stops_next();
    EXPECT_EQ(stops, step == 4) << step;
    EXPECT_EQ(counter.step(), stops) << step;
  }
  EXPECT_TRUE(counter.is_past_limit());
}

}  // namespace
}  // namespace gang::sim
