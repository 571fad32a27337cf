#include "gang/rank_list.h"

#include <gtest/gtest.h>

#include "gang/gang.h"

namespace gang {
namespace {

std::string label(std::string name, std::vector<int> ranks) {
  GangInfo info;
  info.name = std::move(name);
  info.size = static_cast<int>(ranks.size());
  info.root_ranks = std::move(ranks);
  return label_of(info);
}

std::vector<int> range(int count, int stride = 1) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(i * stride);
  return ranks;
}

TEST(GangLabel, ListsFewMembers) {
  EXPECT_EQ(label("dp", {0, 2}), "dp[0,2]");
  EXPECT_EQ(label("tp", {5}), "tp[5]");
  EXPECT_EQ(label("tp", {4, 5}), "tp[4,5]");
  EXPECT_EQ(label("dp", {1, 3, 5, 7}), "dp[1,3,5,7]");
}

TEST(GangLabel, HasANameAndMembers) {
  GangInfo info;
  info.name = "dp";
  info.root_ranks = {0, 2};
  info.size = 2;
  EXPECT_EQ(gang_label_of(info), (GangLabel{"dp", "0,2"}));
  EXPECT_EQ(to_string(GangLabel{}), "");
  EXPECT_TRUE(GangLabel{}.empty());
}

TEST(GangLabel, NeighboursAreARange) {
  EXPECT_EQ(label("root", range(8)), "root[0-7]");
  EXPECT_EQ(label("g", {0, 1, 2, 8, 9, 10, 11}), "g[0-2,8-11]");
}

TEST(GangLabel, ManyEquallySpacedMembersAreARangeWithAStride) {
  EXPECT_EQ(label("dp", range(512, 2)), "dp[0-1022:2]");
  EXPECT_EQ(label("root", range(1 << 20)), "root[0-1048575]");
}

TEST(GangLabel, KeepsTheOrderOfTheMembers) {
  EXPECT_EQ(label("g", {4, 0, 2}), "g[4,0,2]");
  EXPECT_EQ(label("g", {3, 2, 1, 0}), "g[3,2,1,0]");
}

TEST(GangLabel, FurtherMembersAreLeftOut) {
  const std::string text =
      label("irregular", {100000, 5, 300000, 7, 500000, 9, 700000, 11, 900000});
  EXPECT_EQ(text, "irregular[100000,5,300000,7,500000,9,...]");
  EXPECT_LE(text.size(), 45u);
  EXPECT_EQ(label(std::string(50, 'n'), {123456, 9, 234567}).substr(50), "[123456,9,...]");
}

TEST(GangLabel, ImaginaryMembersAreARange) {
  GangInfo info;
  info.name = "root";
  info.size = 8;
  EXPECT_EQ(label_of(info), "root[0-7]");
  info.size = 2;
  EXPECT_EQ(label_of(info), "root[0,1]");
  info.size = 1;
  EXPECT_EQ(label_of(info), "root[0]");
}

TEST(DefaultChildName, IsTheParentsNameWithAnIndex) {
  GangInfo info;
  info.name = "root";
  EXPECT_EQ(default_child_name(info, 0), "root.0");
  EXPECT_EQ(default_child_name(info, 12), "root.12");
}

TEST(RankList, BeginsWithTheWordForOneOrSeveralRanks) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({0, 2}), "ranks 0,2");
  EXPECT_EQ(ranks_text({4, 5, 6, 7}), "ranks 4-7");
}

TEST(RankList, IsCutOffAtTheLimit) { EXPECT_EQ(ranges_text({10, 20, 31, 45}, 6), "10,20,..."); }

}  // namespace
}  // namespace gang
