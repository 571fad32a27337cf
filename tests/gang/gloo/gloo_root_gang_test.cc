#include <gtest/gtest.h>

#include "gang/gloo/gloo_gang.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;

TEST(GlooRootGang, IsAvailable) { EXPECT_TRUE(gloo_availability().is_available); }

TEST(GlooRootGang, OfOneProcessNeedsNoMeetingPoint) {
  const auto gang = make_gloo_root_gang({.rank = 0, .world_size = 1}, {.timeout = 3s});
  EXPECT_EQ(gang->size(), 1);
  EXPECT_EQ(gang->info().backend, "gloo");
  EXPECT_EQ(gang->timeout(), Duration(3s));
  float value = 2;
  gang->all_reduce(view_of(value), ReduceOperation::sum);
  EXPECT_EQ(value, 2.0F);
}

}  // namespace
}  // namespace gang
