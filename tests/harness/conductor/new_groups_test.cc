#include "harness/conductor/new_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int world = 4;

NewGroupMessage group(const std::string& name, std::vector<int> ranks, std::uint32_t line = 7,
                      std::uint32_t init = 1) {
  return {init, name, std::move(ranks), CallSite::at("train.py", line)};
}

// All ranks of the world make it of `ranks`, but `other`, if it is one of them, of `others`.
std::optional<sim::Finding> make(NewGroups& groups, const std::string& name,
                                 const std::vector<int>& ranks, int other = -1,
                                 const std::vector<int>& others = {}) {
  std::optional<sim::Finding> told;
  for (int rank = 0; rank < world; ++rank) {
    EXPECT_FALSE(told) << "before rank " << rank;
    told = rank == other ? groups.note(rank, group(name, others, 9), world)
                         : groups.note(rank, group(name, ranks), world);
  }
  return told;
}

TEST(NewGroups, ThatAllMakeOfTheSameRanksAreFine) {
  NewGroups groups;
  EXPECT_FALSE(make(groups, "1", {0, 1}));
  EXPECT_FALSE(make(groups, "2", {2, 3}));
  EXPECT_FALSE(groups.unfinished());
}

TEST(NewGroups, WhoeverDiffersFromMostIsWrongAndToldOnceAllHaveCome) {
  for (int odd = 0; odd < world; ++odd) {
    NewGroups groups;
    const auto finding = make(groups, "1", {0, 1}, odd, {2, 3});
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->id, "group_creation_order");
    EXPECT_THAT(finding->ranks, ElementsAre(odd));
    EXPECT_EQ(finding->location.line, 9U);
    EXPECT_THAT(finding->message,
                testing::StartsWith("Rank " + std::to_string(odd) +
                                    " made group 1 of ranks 2,3 at train.py:9; "));
    EXPECT_THAT(finding->message, HasSubstr(" made it of ranks 0,1 at train.py:7: "));
    EXPECT_FALSE(make(groups, "2", {2, 3}, odd, {0, 1})) << "a second time";
    EXPECT_FALSE(groups.unfinished());
  }
}

TEST(NewGroups, TheOrderOfTheRanksOfAGroupMatters) {
  NewGroups groups;
  EXPECT_TRUE(make(groups, "1", {0, 1}, 2, {1, 0}));
}

TEST(NewGroups, WithoutAMajorityAllAreNamed) {
  NewGroups groups;
  for (const int rank : {3, 1, 2}) EXPECT_FALSE(groups.note(rank, group("1", {rank / 2}), world));
  const auto finding = groups.note(0, group("1", {0}), world);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(finding->message,
              testing::StartsWith("Ranks 0-1 made group 1 of rank 0 at train.py:7; ranks 2-3 made "
                                  "it of rank 1 at train.py:7: "));
}

TEST(NewGroups, RanksAreNamedInTheirOrder) {
  NewGroups groups;
  constexpr int large = 5;
  std::optional<sim::Finding> finding;
  for (int rank = 0; rank < large; ++rank)
    finding = groups.note(rank, group("1", {rank / 2}), large);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->ranks, ElementsAre(0, 1, 2, 3, 4));
}

TEST(NewGroups, OfManySidesTheMajorityIsTold) {
  NewGroups groups;
  constexpr int large = 6;
  std::optional<sim::Finding> finding;
  for (int rank = 0; rank < large; ++rank)
    finding = groups.note(rank, group("1", {rank < 4 ? rank : 5}), large);
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(finding->message, HasSubstr("rank 1 made it of rank 1"));
  EXPECT_THAT(finding->message, testing::Not(HasSubstr("of rank 2")));
  EXPECT_THAT(finding->message, HasSubstr("ranks 4-5 made it of rank 5"));
}

TEST(NewGroups, ThatSomeHaveNotMadeAreToldAtTheEnd) {
  NewGroups groups;
  EXPECT_FALSE(groups.note(0, group("1", {2, 3}, 9), world));
  EXPECT_FALSE(groups.note(0, group("2", {0, 1}), world));
  EXPECT_FALSE(groups.note(1, group("1", {0, 1}), world));
  EXPECT_FALSE(groups.note(2, group("1", {0, 1}), world));
  const auto finding = groups.unfinished();
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->ranks, ElementsAre(0));
  EXPECT_EQ(finding->location.line, 9U);
  EXPECT_FALSE(groups.unfinished()) << "a second time";
}

// A rank may make one again after it has destroyed all.
TEST(NewGroups, NamesBeginAgainWithEveryInitialization) {
  NewGroups groups;
  EXPECT_FALSE(make(groups, "1", {0, 1}));
  for (int rank = 0; rank < world; ++rank)
    EXPECT_FALSE(groups.note(rank, group("1", {2, 3}, 7, 2), world));
  for (int again = 0; again < world; ++again)
    EXPECT_FALSE(groups.note(0, group("3", {again}), world)) << "the first one counts";
  EXPECT_FALSE(groups.unfinished());
}

TEST(NewGroups, OfOtherNamesOrInitializationsAreOthers) {
  for (const auto& other : {group("2", {2, 3}), group("1", {2, 3}, 7, 2)}) {
    NewGroups groups;
    EXPECT_FALSE(groups.note(0, group("1", {0, 1}), world));
    EXPECT_FALSE(groups.note(1, other, world));
    EXPECT_FALSE(groups.unfinished());
  }
}

TEST(NewGroups, OfTheRunBeforeAreForgotten) {
  NewGroups groups;
  EXPECT_TRUE(make(groups, "1", {0, 1}, 2, {2, 3}));
  groups.clear();
  EXPECT_FALSE(groups.unfinished());
  EXPECT_TRUE(make(groups, "1", {0, 1}, 3, {2, 3}));
}

}  // namespace
}  // namespace gang::harness
