#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/sampler.h"
#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

using test::LogWriter;

// Two contexts that write one object, in `steps` steps together.
KnownContests two_writers(int steps) {
  LogWriter log(2);
  for (int i = 0; i < steps; ++i) log.step(static_cast<TaskId>(i % 2)).access(1);
  KnownContests known;
  known.learn(log.log());
  known.measure(log.log());
  return known;
}

// The order in which two contexts take their steps, each of which writes the object.
std::string order(Sampler& sampler, int steps_of_each) {
  std::string order;
  std::uint64_t left = 0b11;
  std::map<TaskId, int> made;
  const std::vector<Access> accesses = {{.mode = AccessMode::write, .object = 1}};
  while (left != 0) {
    const TaskId task = sampler.choose(ContextBits({&left, 1}));
    sampler.note_step({task, 100 + task, accesses});
    order += task == 0 ? 'a' : 'b';
    if (++made[task] == steps_of_each) left &= ~(std::uint64_t{1} << task);
  }
  return order;
}

std::map<std::string, int> orders(int depth, int seeds) {
  const KnownContests known = two_writers(6);
  std::map<std::string, int> seen;
  for (int seed = 1; seed <= seeds; ++seed)
    ++seen[order(*make_pct_sampler(static_cast<std::uint64_t>(seed), depth, known), 3)];
  return seen;
}

TEST(PctSampler, WithoutChangesPrioritiesDecide) {
  const auto seen = orders(1, 1000);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_NEAR(seen.at("aaabbb"), 500, 100);
}

TEST(PctSampler, AContextFallsBehindOncePerChange) {
  const auto seen = orders(2, 2000);
  // A change is at one of six steps: nothing changes after the third and later ones of the first.
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        testing::Pair("aaabbb", testing::_), testing::Pair("bbbaaa", testing::_),
                        testing::Pair("abbbaa", testing::_), testing::Pair("baaabb", testing::_),
                        testing::Pair("aabbba", testing::_), testing::Pair("bbaaab", testing::_)));
  EXPECT_NEAR(seen.at("abbbaa"), 2000 / 12, 60);
}

TEST(PctSampler, EqualSeedsGiveEqualOrders) { EXPECT_EQ(orders(3, 50), orders(3, 50)); }

TEST(PctBound, FollowsThePaper) {
  const KnownContests known = two_writers(6);
  EXPECT_DOUBLE_EQ(pct_bound(1, known), 1.0 / 2);
  EXPECT_DOUBLE_EQ(pct_bound(2, known), 1.0 / 12);
  EXPECT_DOUBLE_EQ(pct_bound(3, known), 1.0 / 72);
}

// Both are known to be contested, and no further ones.
TEST(PctSampler, AChangeIsAfterOneOfTheKnownSteps) {
  const KnownContests known = two_writers(2);
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    ++seen[order(*make_pct_sampler(seed, 2, known), 3)];
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        testing::Pair("abbbaa", testing::_), testing::Pair("baaabb", testing::_),
                        testing::Pair("aabbba", testing::_), testing::Pair("bbaaab", testing::_)));
}

}  // namespace
}  // namespace gang::sim
