#include "sim/state/link_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::ElementsAre;

constexpr auto anything = [](int) { return true; };

std::vector<int> entries_of(const LinkQueue<int>& queue) {
  std::vector<int> entries;
  for (const int entry : queue) entries.push_back(entry);
  return entries;
}

LinkQueue<int> three_of_two_sources() {
  LinkQueue<int> queue;
  queue.push(1, 10);
  queue.push(2, 20);
  queue.push(1, 11);
  return queue;
}

TEST(LinkQueue, KeepsItsOrder) {
  LinkQueue<int> queue = three_of_two_sources();
  EXPECT_THAT(entries_of(queue), ElementsAre(10, 20, 11));
  EXPECT_EQ(queue.take(*queue.find(anything)), 10);
  EXPECT_EQ(queue.take(*queue.find(anything)), 20);
  EXPECT_EQ(queue.take(*queue.find(anything)), 11);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.find(anything));
}

TEST(LinkQueue, FindsTheOldestOfASource) {
  LinkQueue<int> queue = three_of_two_sources();
  EXPECT_EQ(queue[*queue.find_from(2, anything)], 20);
  EXPECT_EQ(queue[*queue.find_from(1, [](int value) { return value > 10; })], 11);
  EXPECT_FALSE(queue.find_from(3, anything));
  EXPECT_EQ(queue.take(*queue.find_from(2, anything)), 20);
  EXPECT_FALSE(queue.find_from(2, anything));
  EXPECT_THAT(entries_of(queue), ElementsAre(10, 11));
}

TEST(LinkQueue, IsTheSameHoweverManyHaveBeenTakenFromWithin) {
  LinkQueue<int> queue;
  constexpr int count = 1000;
  queue.push(count, -1);  // stays in front
  for (int i = 0; i < count; ++i) queue.push(i, i);
  for (int i = count - 1; i >= 0; --i) {
    ASSERT_EQ(queue.take(*queue.find_from(i, anything)), i);
    if (i == 0) break;
    ASSERT_EQ(queue[*queue.find_from(i - 1, anything)], i - 1);
  }
  EXPECT_THAT(entries_of(queue), ElementsAre(-1));
  queue.push(5, 50);
  EXPECT_EQ(queue.take(*queue.find_from(5, anything)), 50);
}

}  // namespace
}  // namespace gang::sim
