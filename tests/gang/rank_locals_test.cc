#include "gang/rank_locals.h"

#include <thread>

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(RankLocals, AThreadHasItsOwn) {
  RankLocals* here = &rank_locals();
  EXPECT_EQ(&rank_locals(), here);
  RankLocals* there = nullptr;
  std::jthread([&there] { there = &rank_locals(); }).join();
  EXPECT_NE(there, here);
}

TEST(RankLocals, ASchedulerSetsThoseOfTheRunningRank) {
  RankLocals* own = &rank_locals();
  RankLocals first;
  RankLocals second;
  set_rank_locals(&first);
  EXPECT_EQ(&rank_locals(), &first);
  set_rank_locals(&second);
  EXPECT_EQ(&rank_locals(), &second);
  set_rank_locals(nullptr);
  EXPECT_EQ(&rank_locals(), own);
}

TEST(RankLocals, TheirPlaceIsWhereASchedulerSetsThem) {
  RankLocals locals;
  RankLocals*& place = rank_locals_place();
  EXPECT_EQ(place, nullptr);
  place = &locals;
  EXPECT_EQ(&rank_locals(), &locals);
  set_rank_locals(nullptr);
  EXPECT_EQ(place, nullptr);
  RankLocals** there = nullptr;
  std::jthread([&there] { there = &rank_locals_place(); }).join();
  EXPECT_NE(there, &place);
}

TEST(RankLocals, SettingThemDoesNotTouchOtherThreads) {
  RankLocals locals;
  set_rank_locals(&locals);
  RankLocals* there = nullptr;
  std::jthread([&there] { there = &rank_locals(); }).join();
  set_rank_locals(nullptr);
  EXPECT_NE(there, &locals);
}

}  // namespace
}  // namespace gang
