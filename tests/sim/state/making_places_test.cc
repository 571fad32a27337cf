#include "sim/state/making_places.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

const CallSite first_place = CallSite::at("train.cc", 7);
const CallSite second_place = CallSite::at("train.cc", 9);

TEST(MakingPlaces, AreThoseOfEachMember) {
  MakingPlaces places;
  EXPECT_EQ(places.of(0).line(), 0U);
  for (const int member : {0, 1, 2}) places.note(member, member == 1 ? second_place : first_place);
  EXPECT_EQ(places.of(0), first_place);
  EXPECT_EQ(places.of(1), second_place);
  EXPECT_EQ(places.of(2), first_place);
}

TEST(MakingPlaces, TheLastOneOfAMemberCounts) {
  MakingPlaces places;
  for (const int member : {0, 1}) places.note(member, first_place);
  places.note(1, second_place);
  EXPECT_EQ(places.of(1), second_place);
  places.note(1, first_place);
  EXPECT_EQ(places.of(1), first_place);
  EXPECT_EQ(places.of(0), first_place);
}

TEST(MakingPlaces, AnUnknownOneIsNotTakenForThatOfOthers) {
  MakingPlaces places;
  places.note(0, {});
  places.note(1, first_place);
  EXPECT_EQ(places.of(0).line(), 0U);
  EXPECT_EQ(places.of(1), first_place);
}

}  // namespace
}  // namespace gang::sim
