#include "gang/child_gang.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChildGang, OfAListKeepsItsOrder) {
  const int list[] = {4, 0, 2};
  const auto child = child_of_list(list, 2);
  ASSERT_TRUE(child);
  EXPECT_THAT(child->members, ElementsAre(4, 0, 2));
  EXPECT_EQ(child->rank, 2);
  EXPECT_EQ(child->suffix, "");
  EXPECT_FALSE(child_of_list(list, 1));
}

TEST(ChildGang, OfASplitIsOrderedByKeyThenRank) {
  const SplitPlace places[] = {{7, 1}, {8, 0}, {7, 0}, {no_color, 0}, {7, 1}};
  const auto child = child_of_split(places, 4);
  ASSERT_TRUE(child);
  EXPECT_THAT(child->members, ElementsAre(2, 0, 4));
  EXPECT_EQ(child->rank, 2);
  EXPECT_EQ(child->suffix, ".7");
  EXPECT_FALSE(child_of_split(places, 3));
}

TEST(ChildGang, InheritsWhatItsOptionsLeaveOpen) {
  const GangInfo parent{
      .name = "tp", .root_ranks = {8, 9, 10}, .timeout = 3s, .backend = "gloo", .size = 3};
  const int members[] = {2, 0};
  const auto plain = child_info(parent, members, {}, 5);
  EXPECT_EQ(plain->name, "tp.5");
  EXPECT_EQ(plain->timeout, 3s);
  EXPECT_EQ(plain->backend, "gloo");
  EXPECT_EQ(plain->size, 2);
  EXPECT_THAT(plain->root_ranks, ElementsAre(10, 8));
  const auto named = child_info(parent, members, {.name = "dp", .timeout = 1s}, 5);
  EXPECT_EQ(named->name, "dp");
  EXPECT_EQ(named->timeout, 1s);
}

TEST(OddRanks, AreThoseThatDoNotSayWhatMostSay) {
  EXPECT_THAT(odd_ranks(std::vector<int>{1, 1, 1}), IsEmpty());
  EXPECT_THAT(odd_ranks(std::vector<int>{2, 1, 1}), ElementsAre(0));
  EXPECT_THAT(odd_ranks(std::vector<int>{1, 2}), ElementsAre(1));
}

TEST(ListMismatch, NamesTheOddRanks) {
  EXPECT_FALSE(list_mismatch(std::vector<int>{1, 1}));
  const auto cause = list_mismatch(std::vector<int>{1, 2, 1});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, GangErrorKind::mismatch);
  EXPECT_THAT(cause->ranks_at_fault, ElementsAre(1));
}

TEST(RootInfo, NumbersItsMembersLikeTheRootRanks) {
  const auto info = root_info("root", "gloo", 3, 2s);
  EXPECT_THAT(info->root_ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(info->size, 3);
  EXPECT_EQ(info->backend, "gloo");
  EXPECT_EQ(info->timeout, 2s);
}

TEST(OtherRanks, AreThoseThatAreMissing) {
  EXPECT_THAT(other_ranks(std::vector<int>{2, 0}, 4), ElementsAre(1, 3));
  EXPECT_THAT(other_ranks(std::vector<int>{1}, 3), ElementsAre(0, 2));
}

TEST(ListMismatch, NamesEveryOddRank) {
  const auto cause = list_mismatch(std::vector<int>{1, 2, 1, 3, 1});
  ASSERT_TRUE(cause);
  EXPECT_THAT(cause->ranks_at_fault, ElementsAre(1, 3));
}

}  // namespace
}  // namespace gang
