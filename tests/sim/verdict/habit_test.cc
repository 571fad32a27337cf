#include "sim/verdict/habit.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Of ranks whose calls are at these lines.
std::optional<Habit> habit_of(const std::vector<std::vector<std::uint32_t>>& lines) {
  const Report report = recorded(static_cast<int>(lines.size()), [&lines](SimulatedRank& rank) {
    for (const std::uint32_t number : lines.at(static_cast<std::size_t>(rank.rank()))) {
      if (number % 2 == 0)
        reduce(*rank.root(), number);
      else
        rank.root()->barrier({}, line(number));
    }
  });
  return find_habit(CallSequences(*report.histories));
}

std::string place_of(const CallSummary& call) { return to_string(call.location); }

TEST(Habit, TellsWhoGoesOnAsBothDidBefore) {
  for (const int other : {0, 1}) {
    std::vector<std::vector<std::uint32_t>> lines(2, {2, 4, 2, 4, 2, 4});
    lines.at(static_cast<std::size_t>(other)) = {2, 4, 2, 4, 2, 9};
    const auto habit = habit_of(lines);
    ASSERT_TRUE(habit);
    EXPECT_EQ(habit->times, 2U);
    EXPECT_EQ(place_of(habit->after), "train.py:2");
    EXPECT_THAT(habit->after.ranks, ElementsAre(0, 1));
    EXPECT_EQ(place_of(habit->usual), "train.py:4");
    EXPECT_THAT(habit->usual.ranks, ElementsAre(1 - other));
    EXPECT_EQ(place_of(habit->unusual), "train.py:9");
    EXPECT_THAT(habit->unusual.ranks, ElementsAre(other));
  }
}

TEST(Habit, OneMayHaveReturned) {
  const auto habit = habit_of({{2, 4, 2, 4}, {2, 4, 2}});
  ASSERT_TRUE(habit);
  EXPECT_EQ(place_of(habit->usual), "train.py:4");
  EXPECT_TRUE(habit->unusual.call.empty());
  EXPECT_THAT(habit->unusual.ranks, ElementsAre(1));
}

TEST(Habit, ThereIsNoneWhereBothWentOnInBothWays) {
  EXPECT_FALSE(habit_of({{2, 4, 2, 9, 2, 4}, {2, 4, 2, 9, 2, 9}}));
}

TEST(Habit, ThereIsNoneWhereTheyAreForTheFirstTime) {
  EXPECT_FALSE(habit_of({{2, 4}, {2, 9}}));
  EXPECT_FALSE(habit_of({{4}, {9}}));
}

TEST(Habit, ThereIsNoneWhereTheyDoNotPart) { EXPECT_FALSE(habit_of({{2, 4, 2, 4}, {2, 4, 2, 4}})); }

TEST(Habit, OfMoreThanTwoRanksTheMajorityTells) {
  EXPECT_FALSE(habit_of({{2, 4, 2, 4}, {2, 4, 2, 4}, {2, 4, 2, 9}}));
}

}  // namespace
}  // namespace gang::sim
