#include "gang/current_gangs.h"

#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "gang/rank_locals.h"

namespace gang {
namespace {

TEST(CurrentGangs, OutsideAnyScopeThereAreNone) { EXPECT_EQ(current_gangs(), nullptr); }

TEST(CurrentGangs, TheInnermostScopeCounts) {
  const Gangs outer = create_fake_gangs();
  const Gangs inner = create_fake_gangs();
  {
    const CurrentGangs outer_scope(outer);
    EXPECT_EQ(current_gangs(), &outer);
    {
      const CurrentGangs inner_scope(inner);
      EXPECT_EQ(current_gangs(), &inner);
    }
    EXPECT_EQ(current_gangs(), &outer);
  }
  EXPECT_EQ(current_gangs(), nullptr);
}

TEST(CurrentGangs, TheSameGangsMayBeMadeCurrentTwice) {
  const Gangs gangs = create_fake_gangs();
  const Gangs others = create_fake_gangs();
  const CurrentGangs outer(gangs);
  const CurrentGangs between(others);
  {
    const CurrentGangs inner(gangs);
  }
  EXPECT_EQ(current_gangs(), &others);
}

// fairseq2's B13: only the thread that loaded the module had a stack.
TEST(CurrentGangs, EveryThreadHasItsOwnStack) {
  const Gangs here = create_fake_gangs();
  const CurrentGangs scope(here);
  std::jthread([] {
    EXPECT_EQ(current_gangs(), nullptr);
    const Gangs there = create_fake_gangs();
    const CurrentGangs inner(there);
    EXPECT_EQ(current_gangs(), &there);
  }).join();
  EXPECT_EQ(current_gangs(), &here);
}

TEST(CurrentGangs, RanksThatShareAThreadHaveTheirOwnStacks) {
  const Gangs gangs = create_fake_gangs();
  RankLocals first;
  RankLocals second;
  set_rank_locals(&first);
  std::optional<CurrentGangs> scope;
  scope.emplace(gangs);
  set_rank_locals(&second);
  EXPECT_EQ(current_gangs(), nullptr);
  set_rank_locals(&first);
  EXPECT_EQ(current_gangs(), &gangs);
  scope.reset();
  EXPECT_EQ(current_gangs(), nullptr);
  set_rank_locals(nullptr);
}

// fairseq2's B14 (d): the stack was popped blindly.
TEST(CurrentGangs, AScopeNeverPopsAnothersGangs) {
  const Gangs outer = create_fake_gangs();
  const Gangs inner = create_fake_gangs();
  const CurrentGangs outer_scope(outer);
  std::optional<CurrentGangs> elsewhere;
  RankLocals other;
  set_rank_locals(&other);
  elsewhere.emplace(inner);
  set_rank_locals(nullptr);
  elsewhere.reset();  // ends on a rank that it did not begin on
  EXPECT_EQ(current_gangs(), &outer);
}

TEST(CurrentGangs, ScopesThatEndOutOfOrderRemoveTheirOwn) {
  const Gangs first = create_fake_gangs();
  const Gangs second = create_fake_gangs();
  std::optional<CurrentGangs> first_scope(std::in_place, first);
  std::optional<CurrentGangs> second_scope(std::in_place, second);
  first_scope.reset();
  EXPECT_EQ(current_gangs(), &second);
  second_scope.reset();
  EXPECT_EQ(current_gangs(), nullptr);
}

}  // namespace
}  // namespace gang
