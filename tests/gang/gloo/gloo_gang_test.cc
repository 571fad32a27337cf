#include "gang/gloo/gloo_gang.h"

#include <gtest/gtest.h>

#include "tests/gang/recording_gang.h"

namespace gang {
namespace {

TEST(GlooGang, SaysWhetherItIsAvailableAndElseWhy) {
  const BackendAvailability availability = gloo_availability();
  EXPECT_EQ(availability.is_available, availability.reason.empty());
  if (!availability.is_available) {
    EXPECT_EQ(availability.reason,
              "gloo is not built into this version; accepted are fake and simulated gangs");
  }
}

TEST(GlooGang, WhereItIsUnavailableARootGangIsNotSupported) {
  if (gloo_availability().is_available) GTEST_SKIP() << "runs where gloo is not built";
  EXPECT_EQ(
      test::message_of<NotSupported>([] { make_gloo_root_gang({.rank = 0, .world_size = 2}, {}); }),
      "a gang of 2 processes on cpu needs gloo: " + gloo_availability().reason);
}

}  // namespace
}  // namespace gang
