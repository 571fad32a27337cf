#include "sim/schedule/runnable_set.h"

#include <iterator>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/random_stream.h"

namespace gang::sim {
namespace {

// The same set, slowly.
TaskId next_after(const std::set<TaskId>& model, TaskId id) {
  const auto next = model.upper_bound(id);
  return next == model.end() ? *model.begin() : *next;
}

class RunnableSetOfSize : public testing::TestWithParam<TaskId> {};

TEST_P(RunnableSetOfSize, AgreesWithAnOrderedSetOverRandomOperations) {
  const TaskId capacity = GetParam();
  RunnableSet set;
  set.reserve(capacity);
  std::set<TaskId> model;
  RandomStream random(capacity, "operations");
  for (int step = 0; step < 4000; ++step) {
    // Now and then close to the ends and to the borders of words, where mistakes would be.
    const bool near_a_border = random.below(4) == 0;
    const TaskId id = static_cast<TaskId>(
        near_a_border
            ? (random.below(2) == 0 ? random.below(std::min<TaskId>(capacity, 3))
                                    : capacity - 1 - random.below(std::min<TaskId>(capacity, 2)))
            : random.below(capacity));
    ASSERT_EQ(set.contains(id), model.contains(id));
    if (model.insert(id).second) {
      set.insert(id);
    } else if (random.below(3) != 0) {
      model.erase(id);
      set.remove(id);
    }
    ASSERT_EQ(set.size(), model.size());
    ASSERT_EQ(set.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(set.first(), *model.begin());
    ASSERT_EQ(set.last(), *model.rbegin());
    ASSERT_EQ(set.next_after(id), next_after(model, id));
    if (random.below(4) == 0) {
      const TaskId next = next_after(model, id);
      ASSERT_EQ(set.take_next_after(id), next);
      ASSERT_FALSE(set.contains(next));
      model.erase(next);
      if (model.empty()) continue;
    }
    const auto second =
        std::next(model.upper_bound(id), model.upper_bound(id) == model.end() ? 0 : 1);
    if (second != model.end() && *second / 64 == id / 64) {
      ASSERT_EQ(set.second_after(id), *second);
    } else {
      ASSERT_TRUE(set.contains(set.second_after(id)));
    }
    const std::size_t index = random.below(model.size());
    ASSERT_EQ(set.at(index), *std::next(model.begin(), static_cast<std::ptrdiff_t>(index)));
  }
  std::vector<TaskId> members;
  for (const TaskId id : set.bits()) members.push_back(id);
  EXPECT_THAT(members, testing::ElementsAreArray(model));
}

INSTANTIATE_TEST_SUITE_P(AroundItsWords, RunnableSetOfSize,
                         testing::Values(1, 2, 63, 64, 65, 4095, 4096, 4097, 262143, 262144,
                                         262145));

TEST(RunnableSet, AnEmptyOneHasNoSecondSuccessor) {
  EXPECT_EQ(RunnableSet().second_after(3), no_task);
}

TEST(RunnableSet, TheSuccessorOfTheLastMemberIsTheFirst) {
  RunnableSet set;
  set.reserve(5000);
  set.insert(7);
  set.insert(4999);
  EXPECT_EQ(set.next_after(7), 4999U);
  EXPECT_EQ(set.next_after(4999), 7U);
  EXPECT_EQ(set.next_after(4998), 4999U);
}

TEST(RunnableSet, TheOnlyMemberIsItsOwnSuccessor) {
  RunnableSet set;
  set.insert(63);
  EXPECT_EQ(set.next_after(63), 63U);
}

TEST(RunnableSet, KeepsItsMembersWhenItGrows) {
  RunnableSet set;
  set.insert(3);
  set.insert(63);
  set.reserve(300'000);
  set.insert(299'999);
  EXPECT_EQ(set.size(), 3U);
  EXPECT_EQ(set.next_after(3), 63U);
  EXPECT_EQ(set.next_after(63), 299'999U);
  EXPECT_EQ(set.next_after(299'999), 3U);
}

TEST(RunnableSet, KeepsItsMembersWhenItGrowsStepByStep) {
  RunnableSet set;
  std::set<TaskId> model;
  for (const TaskId capacity : {1, 64, 65, 130, 4096, 4097, 10'000, 262'144, 262'145, 600'000}) {
    set.reserve(capacity);
    if (model.insert(capacity - 1).second) set.insert(capacity - 1);
    for (const TaskId member : model) ASSERT_EQ(set.next_after(member), next_after(model, member));
    ASSERT_EQ(set.first(), *model.begin());
    ASSERT_EQ(set.last(), *model.rbegin());
  }
  for (const TaskId member : model) set.remove(member);
  EXPECT_TRUE(set.empty());
}

TEST(RunnableSet, DoesNotContainWhatIsBeyondItsCapacity) {
  EXPECT_FALSE(RunnableSet().contains(1'000'000));
}

}  // namespace
}  // namespace gang::sim
