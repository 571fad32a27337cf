#include "sim/matching/reduction_pool.h"

#include <atomic>
#include <set>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

// How often each index was covered.
std::vector<int> coverage(ReductionPool& pool, std::size_t count) {
  std::vector<std::atomic<int>> seen(count);
  pool.run(count, [&seen](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++seen[i];
  });
  return {seen.begin(), seen.end()};
}

TEST(ReductionPool, PartsCoverTheRangeOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ReductionPool pool(threads);
    for (const std::size_t count : {0U, 1U, 2U, 7U, 8U, 1001U})
      EXPECT_EQ(coverage(pool, count), std::vector<int>(count, 1))
          << threads << " threads, " << count;
  }
}

TEST(ReductionPool, ServesManyRounds) {
  ReductionPool pool(3);
  std::atomic<std::size_t> sum = 0;
  for (int round = 0; round < 500; ++round)
    pool.run(100, [&sum](std::size_t begin, std::size_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 50'000U);
}

TEST(ReductionPool, UsesAsManyThreadsAsItHas) {
  ReductionPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  pool.run(3, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 3U);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ReductionPool, OneThreadIsTheCaller) {
  ReductionPool pool(1);
  pool.run(10, [caller = std::this_thread::get_id()](std::size_t begin, std::size_t end) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 10U);
  });
}

}  // namespace
}  // namespace gang::sim
