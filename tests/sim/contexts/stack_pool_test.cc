#include "sim/contexts/stack_pool.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

std::byte* low_end(const StackPool& pool, void* top) {
  return static_cast<std::byte*>(top) - pool.stack_bytes();
}

TEST(StackPool, GivesDistinctStacksThatAreWritableToTheirLowEnd) {
  StackPool pool(stack_bytes);
  std::set<void*> tops;
  for (int i = 0; i < 40; ++i) {
    void* top = pool.take();
    EXPECT_TRUE(tops.insert(top).second);
    std::memset(low_end(pool, top), i, stack_bytes);
  }
  // Neighbours have not overwritten each other.
  std::set<std::byte> contents;
  for (void* top : tops) {
    EXPECT_EQ(std::memcmp(low_end(pool, top), low_end(pool, top) + 1, stack_bytes - 1), 0);
    contents.insert(*low_end(pool, top));
  }
  EXPECT_EQ(contents.size(), 40U);
}

TEST(StackPool, ReusesWhatIsGivenBack) {
  StackPool pool(stack_bytes);
  void* top = pool.take();
  pool.give_back(top);
  EXPECT_EQ(pool.take(), top);
}

TEST(StackPool, LosesNoStackWhenItReservesMore) {
  StackPool pool(stack_bytes);
  std::set<void*> tops;
  const auto in = [](const StackRow& row, const void* top) {
    const auto* const at = static_cast<const std::byte*>(top);
    return at > row.base && at <= row.base + row.stride * row.count;
  };
  const StackRow first = pool.reserve(3);
  EXPECT_TRUE(tops.insert(pool.take()).second);
  const StackRow second = pool.reserve(2);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(tops.insert(pool.take()).second);
  EXPECT_EQ(std::ranges::count_if(tops, [&](void* top) { return in(first, top); }), 3);
  EXPECT_EQ(std::ranges::count_if(tops, [&](void* top) { return in(second, top); }), 2);
}

TEST(StackPool, RoundsUpToWholePages) {
  const StackPool pool(stack_bytes + 1);
  EXPECT_GT(pool.stack_bytes(), stack_bytes);
  EXPECT_EQ(pool.stack_bytes() % 4096, 0U);
}

TEST(StackPool, HasStacksBeyondTheGuardedOnes) {
  StackPool pool(16 * 1024);
  pool.reserve(StackPool::most_guarded);
  std::set<void*> tops;
  for (std::size_t i = 0; i < StackPool::most_guarded + 100; ++i) {
    void* top = pool.take();
    *low_end(pool, top) = std::byte{1};
    EXPECT_TRUE(tops.insert(top).second);
  }
}

TEST(StackPoolDeathTest, AnOverflowFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  StackPool pool(stack_bytes);
  volatile std::byte* below = low_end(pool, pool.take()) - 1;
  EXPECT_DEATH(*below = std::byte{1}, "");
}

}  // namespace
}  // namespace gang::sim
