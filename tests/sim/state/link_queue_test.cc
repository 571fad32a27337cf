#include "sim/state/link_queue.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/random_stream.h"

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
  EXPECT_EQ(queue[*queue.find_from(3, 2, anything)], 20);
  EXPECT_EQ(queue[*queue.find_from(2, 1, anything)], 10);
  EXPECT_FALSE(queue.find_from(3, 4, anything));
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

TEST(LinkQueue, AgreesWithAListOverRandomOperations) {
  struct Sent {
    int source;
    int value;
  };
  LinkQueue<int> queue;
  std::vector<Sent> list;
  RandomStream random(1, "operations");
  const auto draw = [&random](std::uint64_t below) {
    return static_cast<int>(random.below(below));
  };
  for (int step = 0; step < 20'000; ++step) {
    if (step % 1'000 == 0) {  // once it has been long, it is another one inside
      queue = {};
      list.clear();
    }
    // It grows and shrinks in turns, and is often empty.
    const bool grows = step / 50 % 2 == 0;
    const int source = draw(5);
    if (list.empty() || draw(4) < (grows ? 3 : 1)) {
      queue.push(source, step);
      list.push_back({source, step});
    } else {
      const int from = draw(3);  // any source, one, or one of two
      const int other = draw(5);
      const int least = draw(3) == 0 ? step - draw(40) : 0;
      const auto accepts = [least](int value) { return value >= least; };
      const auto expected =
          std::ranges::find_if(list, [from, source, other, &accepts](const Sent& sent) {
            return (from == 0 || sent.source == source || (from == 2 && sent.source == other)) &&
                   accepts(sent.value);
          });
      const auto place = from == 0   ? queue.find(accepts)
                         : from == 1 ? queue.find_from(source, accepts)
                                     : queue.find_from(source, other, accepts);
      ASSERT_EQ(place.has_value(), expected != list.end());
      if (!place) continue;
      ASSERT_EQ(queue.take(*place), expected->value);
      list.erase(expected);
    }
    ASSERT_EQ(queue.empty(), list.empty());
    ASSERT_TRUE(std::ranges::equal(entries_of(queue), list, {}, {}, &Sent::value));
  }
}

}  // namespace
}  // namespace gang::sim
