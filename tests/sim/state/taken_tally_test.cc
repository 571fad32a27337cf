#include "sim/state/taken_tally.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Collective send(int tag, std::uint64_t number = 0) {
  return {.kind = OperationKind::send, .tag = tag, .sequence_number = number, .label = "borrowed"};
}

// Source and count of those with the tag.
std::vector<std::pair<int, int>> counts(const TakenTally& tally, int tag) {
  std::vector<std::pair<int, int>> found;
  for (const TakenFrom& from : tally.with_tag(tag)) found.emplace_back(from.source, from.count);
  return found;
}

TEST(TakenTally, CountsBySourceAndTag) {
  TakenTally tally;
  EXPECT_EQ(tally.most(), 0);
  EXPECT_THAT(counts(tally, 0), IsEmpty());
  for (const auto& [source, tag] : {std::pair(5, 0), {2, 0}, {5, 0}, {5, 1}})
    tally.count(source, send(tag));
  EXPECT_THAT(counts(tally, 0), ElementsAre(std::pair(2, 1), std::pair(5, 2)));
  EXPECT_THAT(counts(tally, 1), ElementsAre(std::pair(5, 1)));
  EXPECT_THAT(counts(tally, 2), IsEmpty());
  EXPECT_EQ(tally.most(), 2);
  EXPECT_EQ(tally.count_of(0, 5), 2);
  EXPECT_EQ(tally.count_of(1, 2), 0);
}

TEST(TakenTally, NamesThoseThatWereTakenOftenEnough) {
  TakenTally tally;
  for (const int source : {4, 1, 4, 4, 1, 2}) tally.count(source, send(0));
  const auto sources = [&tally](int least) {
    std::vector<int> found;
    for (const TakenFrom& from : tally.with_tag(0, least)) found.push_back(from.source);
    return found;
  };
  EXPECT_THAT(sources(1), ElementsAre(1, 2, 4));
  EXPECT_THAT(sources(2), ElementsAre(1, 4));
  EXPECT_THAT(sources(3), ElementsAre(4));
  EXPECT_THAT(sources(4), IsEmpty());
}

TEST(TakenTally, KeepsTheLastSendWithoutItsLabel) {
  TakenTally tally;
  tally.count(3, send(7, 1));
  tally.count(3, send(7, 2));
  const TakenFrom from = tally.with_tag(7).front();
  EXPECT_EQ(from.last.sequence_number, 2u);
  EXPECT_TRUE(from.last.label.empty());
}

// Few are searched, and many indexed: the counts go on.
TEST(TakenTally, CountsManySources) {
  TakenTally tally;
  constexpr int sources = 1000;
  for (int round = 1; round <= 3; ++round)
    for (int source = 0; source < sources; ++source)
      tally.count(sources - source, send(source % 2));
  for (const int tag : {0, 1}) {
    const std::vector<TakenFrom> found = tally.with_tag(tag);
    ASSERT_EQ(found.size(), sources / 2u);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].count, 3);
      ASSERT_EQ(tally.count_of(tag, found[i].source), 3);
      ASSERT_EQ(found[i].source, 2 * static_cast<int>(i) + (tag == 0 ? 2 : 1));
    }
  }
}

}  // namespace
}  // namespace gang::sim
