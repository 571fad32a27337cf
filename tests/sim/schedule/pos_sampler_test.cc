#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/sampler.h"
#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

using test::LogWriter;

// Context `task` writes `objects[task][i]` in its step i.
using Objects = std::vector<std::vector<StepKey>>;

// The order in which the contexts take their steps.
std::string order(const Objects& objects, std::uint64_t seed) {
  LogWriter log(objects.size());
  for (TaskId task = 0; task < objects.size(); ++task)
    for (const StepKey object : objects[task]) log.step(task).access(object);
  KnownContests known;
  known.learn(log.log());
  const auto sampler = make_pos_sampler(seed, known);
  std::string order;
  std::vector<std::size_t> made(objects.size(), 0);
  for (;;) {
    std::uint64_t left = 0;
    for (TaskId task = 0; task < objects.size(); ++task)
      if (made[task] < objects[task].size()) left |= std::uint64_t{1} << task;
    if (left == 0) return order;
    const TaskId task = sampler->choose(ContextBits({&left, 1}));
    const std::vector<Access> accesses = {
        {.mode = AccessMode::write, .object = objects[task][made[task]]}};
    sampler->note_step({task, 100 + task, accesses});
    ++made[task];
    order += static_cast<char>('a' + task);
  }
}

std::map<std::string, int> orders(const Objects& objects, std::uint64_t seeds) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) ++seen[order(objects, seed)];
  return seen;
}

TEST(PosSampler, SeesEveryOrder) { EXPECT_EQ(orders({{1, 1}, {1, 1}}, 500).size(), 6u); }

// The example of the paper: a context with one step against one with many. A random walk reaches
// "the one step comes last" with a probability of 2^-8 only.
TEST(PosSampler, ASingleStepAgainstManyThatCommuteIsAsLikelyLast) {
  const auto seen = orders({{1, 2, 3, 4, 5, 6, 7, 8}, {8}}, 2000);
  int last = 0;
  for (const auto& [order, times] : seen)
    if (order.ends_with("ab")) last += times;
  EXPECT_GT(last, 2000 / 12);  // its priority is the least of nine
}

// Its second step races with each of the other context, so that it is drawn anew: as in a random
// walk, it is rarely last.
TEST(PosSampler, TheStepThatAContextHasComeToIsTheOneThatMayRace) {
  int first = 0;
  int first_and_last = 0;
  for (const auto& [order, times] : orders({{1, 2}, {2, 2, 2, 2, 2, 2, 2, 2}}, 2000)) {
    if (!order.starts_with('a')) continue;
    first += times;
    if (order.ends_with('a')) first_and_last += times;
  }
  EXPECT_GT(first, 500);
  EXPECT_LT(first_and_last, first / 50);
}

TEST(PosSampler, EqualSeedsGiveEqualOrders) {
  EXPECT_EQ(orders({{1, 2}, {2, 1}}, 50), orders({{1, 2}, {2, 1}}, 50));
}

// A step of which nothing is known may race every other: as in a random walk, it is rarely last.
TEST(PosSampler, AStepThatIsNotKnownIsDrawnAnewEachTime) {
  const KnownContests nothing;
  int last = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const auto sampler = make_pos_sampler(seed, nothing);
    const std::uint64_t both = 0b11;
    const std::vector<Access> accesses = {{.mode = AccessMode::write, .object = 1}};
    bool is_last = true;
    for (int made = 0; made < 8; ++made) {
      if (sampler->choose(ContextBits({&both, 1})) == 1) is_last = false;
      sampler->note_step({0, 100, accesses});
    }
    if (is_last) ++last;
  }
  EXPECT_LT(last, 1000 / 50);
}

}  // namespace
}  // namespace gang::sim
