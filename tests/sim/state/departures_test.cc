#include "sim/state/departures.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

const CallSite here = CallSite::at("train.cc", 7);
const CallSite there = CallSite::at("train.cc", 9);

TEST(Departures, AreFoundByMember) {
  Departures departures(4);
  EXPECT_EQ(departures.of(0), nullptr);
  departures.note(2, {5, here});
  departures.note(0, {5, here});
  departures.note(3, {6, there});
  ASSERT_NE(departures.of(0), nullptr);
  EXPECT_EQ(departures.of(0)->calls, 5U);
  EXPECT_EQ(departures.of(0)->call_site, here);
  EXPECT_EQ(departures.of(1), nullptr);
  EXPECT_EQ(departures.of(2)->calls, 5U);
  EXPECT_EQ(departures.of(3)->calls, 6U);
  EXPECT_EQ(departures.of(3)->call_site, there);
}

TEST(Departures, AreToldApartByTheirPlaceAndByTheirCalls) {
  Departures departures(3);
  departures.note(0, {5, here});
  departures.note(1, {5, there});
  departures.note(2, {6, there});
  EXPECT_EQ(departures.of(0)->call_site, here);
  EXPECT_EQ(departures.of(1)->call_site, there);
  EXPECT_EQ(departures.of(1)->calls, 5U);
  EXPECT_EQ(departures.of(2)->calls, 6U);
}

TEST(Departures, TheLaterOneOfAMemberIsKept) {
  Departures departures(2);
  departures.note(1, {1, here});
  departures.note(0, {1, here});
  departures.note(1, {4, there});
  EXPECT_EQ(departures.of(0)->calls, 1U);
  EXPECT_EQ(departures.of(1)->calls, 4U);
}

}  // namespace
}  // namespace gang::sim
