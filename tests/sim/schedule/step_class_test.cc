#include "sim/schedule/step_class.h"

#include <gtest/gtest.h>

#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

using test::LogWriter;

TEST(StepClass, StepsThatCommuteMayChangePlaces) {
  EXPECT_EQ(class_of(LogWriter(2).step(0).access(7).step(1).access(8).log()),
            class_of(LogWriter(2).step(1).access(8).step(0).access(7).log()));
  constexpr AccessMode arrive = AccessMode::arrive;
  EXPECT_EQ(class_of(LogWriter(2).step(0).access(7, arrive).step(1).access(7, arrive).log()),
            class_of(LogWriter(2).step(1).access(7, arrive).step(0).access(7, arrive).log()));
}

TEST(StepClass, StepsThatDoNotCommuteMayNot) {
  EXPECT_NE(class_of(LogWriter(2).step(0).access(7).step(1).access(7).log()),
            class_of(LogWriter(2).step(1).access(7).step(0).access(7).log()));
  constexpr AccessMode arrive = AccessMode::arrive;
  constexpr AccessMode look = AccessMode::look;
  EXPECT_NE(class_of(LogWriter(2).step(0).access(7, arrive).step(1).access(7, look).log()),
            class_of(LogWriter(2).step(1).access(7, look).step(0).access(7, arrive).log()));
}

TEST(StepClass, AMessageMayNotComeBeforeALookThatSawNone) {
  constexpr AccessMode look = AccessMode::look;
  EXPECT_NE(class_of(LogWriter(2).step(0).send(7).step(1).access(coming_to(7), look).log()),
            class_of(LogWriter(2).step(1).access(coming_to(7), look).step(0).send(7).log()));
  EXPECT_EQ(class_of(LogWriter(2).step(0).send(7).step(1).send(7).log()),
            class_of(LogWriter(2).step(1).send(7).step(0).send(7).log()));
}

TEST(StepClass, AnotherObjectIsAnotherClass) {
  EXPECT_NE(class_of(LogWriter(1).step(0).access(7).log()),
            class_of(LogWriter(1).step(0).access(8).log()));
}

}  // namespace
}  // namespace gang::sim
