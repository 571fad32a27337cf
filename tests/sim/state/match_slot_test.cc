#include "sim/state/match_slot.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "sim/state/gang_state.h"

namespace gang::sim {
namespace {

TEST(SlotPool, GivesDistinctSlotsOfItsSize) {
  SlotPools pools;
  SlotPool& pool = pools.of_size(3);
  std::set<const MatchSlot*> slots;
  for (int i = 0; i < 10; ++i) {
    const MatchSlot& slot = pool.take();
    EXPECT_TRUE(slots.insert(&slot).second);
    EXPECT_EQ(slot.size, 3U);
    EXPECT_EQ(slot.members.size(), 3U);
    EXPECT_EQ(slot.seats.size(), 3U);
  }
}

TEST(SlotPool, GivesASlotThatWasGivenBackAsIfItWereNew) {
  SlotPools pools;
  SlotPool& pool = pools.of_size(2);
  MatchSlot& slot = pool.take();
  PendingOperation* const somebody = reinterpret_cast<PendingOperation*>(&slot);
  slot.members[1] = somebody;
  slot.arrived = slot.async_members = slot.departures_left = 1;
  slot.is_mismatched = slot.is_complete = slot.has_other_places = true;
  slot.result_bytes = 4;
  slot.children.resize(2);
  pool.give_back(slot);
  MatchSlot& again = pool.take();
  ASSERT_EQ(&again, &slot);
  EXPECT_EQ(again.members[1], nullptr);
  EXPECT_EQ(again.arrived + again.async_members + again.departures_left, 0U);
  EXPECT_FALSE(again.is_mismatched || again.is_complete || again.has_other_places);
  EXPECT_EQ(again.result_bytes, 0U);
  EXPECT_EQ(again.children.capacity(), 0U);  // a large gang's take much memory
}

TEST(SlotPools, HaveOnePoolForEachSize) {
  SlotPools pools;
  SlotPool& pool = pools.of_size(3);
  for (int size = 1; size < 100; ++size) pools.of_size(size);
  EXPECT_EQ(&pools.of_size(3), &pool);
  EXPECT_NE(&pools.of_size(4), &pool);
  EXPECT_EQ(pools.of_size(4).take().size, 4U);
}

TEST(SlotPools, KeepNoFreeSlotsWhileAllTakeMuchMemory) {
  SlotPools pools;
  SlotPool& large = pools.of_size(200'000);
  SlotPool& small = pools.of_size(2);
  MatchSlot& kept = small.take();
  small.give_back(kept);
  EXPECT_EQ(&small.take(), &kept);
  std::vector<MatchSlot*> slots;
  for (int i = 0; i < 3; ++i) slots.push_back(&large.take());
  EXPECT_EQ(pools.seats_made(), 600'002U);
  large.give_back(*slots[0]);
  EXPECT_EQ(pools.seats_made(), 400'002U);
  small.give_back(kept);
  EXPECT_EQ(pools.seats_made(), 400'000U);
  large.give_back(*slots[2]);
  EXPECT_EQ(pools.seats_made(), 200'000U);
  large.give_back(*slots[1]);  // few enough again
  EXPECT_EQ(pools.seats_made(), 200'000U);
  EXPECT_EQ(&large.take(), slots[1]);
}

}  // namespace
}  // namespace gang::sim
