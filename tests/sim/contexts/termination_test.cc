#include "sim/contexts/termination.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void throws_where_it_may_not() noexcept {
  const auto thrower = [] { throw std::runtime_error("no data"); };
  thrower();
}

// Of a world of 4 in which rank 2 ends the process before a barrier of all.
void expect_only_rank_2_ended(const std::function<void()>& end_process, const char* text) {
  for (const ContextKind context : all_contexts()) {
    const Report report =
        run({.world_size = 4, .context = context}, [&end_process](SimulatedRank& rank) {
          if (rank.rank() == 2) end_process();
          rank.root()->barrier();
        });
    EXPECT_EQ(report.outcome, Outcome::failed);
    ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
    EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
    EXPECT_THAT(report.findings[0].message, HasSubstr(text));
    EXPECT_THAT(report.left_behind,
                ElementsAre(LeftBehind{.rank = 2, .context = "", .by = LeftBehindBy::ending}));
  }
}

TEST(Termination, AnExceptionThatLeavesANoexceptFunctionEndsItsRankOnly) {
  expect_only_rank_2_ended(throws_where_it_may_not, "no data");
}

TEST(Termination, TerminateEndsItsRankOnly) {
  expect_only_rank_2_ended([] { std::terminate(); }, "the program called std::terminate");
}

TEST(Termination, ExitEndsItsRankOnly) {
  expect_only_rank_2_ended([] { std::exit(3); }, "the program called std::exit");
}

TEST(Termination, EveryRankMayExit) {
  for (const ContextKind context : all_contexts()) {
    const Report report =
        run({.world_size = 3, .context = context}, [](SimulatedRank&) { std::exit(0); });
    EXPECT_EQ(report.outcome, Outcome::failed);
    EXPECT_EQ(report.left_behind.size(), 3U);
  }
}

// A thread keeps stacks from its first run on fibers, which comes last here.
TEST(Termination, StacksThatAreYoungerThanTheFirstRunOfTheirThreadStay) {
  std::jthread([] {
    std::vector<ContextKind> contexts = all_contexts();
    std::ranges::reverse(contexts);
    for (int i = 0; i < 2; ++i)
      for (const ContextKind context : contexts)
        EXPECT_EQ(run({.world_size = 2, .context = context}, [](SimulatedRank&) { std::exit(0); })
                      .left_behind.size(),
                  2U);
  });
}

class NoTarget final : public TerminationTarget {
 public:
  bool carries_caller() const noexcept override { return false; }
  [[noreturn]] void terminated(Termination) noexcept override { std::abort(); }
};

TEST(Termination, ATargetIsThatOfItsThreadAndScope) {
  NoTarget outer;
  NoTarget inner;
  {
    const TerminationScope scope(outer);
    {
      const TerminationScope nested(inner);
      EXPECT_EQ(termination_target, &inner);
    }
    EXPECT_EQ(termination_target, &outer);
    std::jthread([] { EXPECT_EQ(termination_target, nullptr); });
  }
  EXPECT_EQ(termination_target, nullptr);
}

TEST(TerminationDeathTest, OutsideOfARunTheProcessStillEnds) {
  run(1, [](SimulatedRank&) {});
  EXPECT_DEATH(throws_where_it_may_not(), "no data");
}

}  // namespace
}  // namespace gang::sim
