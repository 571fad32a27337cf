#include "sim/engine/choices.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Choices, HoldInEveryScheduleUntilAChoicePoint) {
  const SimulationOptions options{.world_size = 2};
  Choices choices(options);
  EXPECT_EQ(choices.schedules(), Schedules::every);
  choices.note_choice_point(Unguided::clock);
  EXPECT_TRUE(choices.is_decided());
  EXPECT_EQ(choices.schedules(), Schedules::at_least_this);
}

TEST(Choices, TheFirstThatNoGuideIsToldOfCounts) {
  const SimulationOptions options{.world_size = 2};
  Choices choices(options);
  choices.note_guided_choice();
  EXPECT_EQ(choices.unguided(), std::nullopt);
  choices.note_choice_point(Unguided::clock);
  choices.note_choice_point(Unguided::fault);
  EXPECT_EQ(choices.unguided(), Unguided::clock);
  // With that one, the same choices need not make the same run.
  choices.note_choice_point(Unguided::outside);
  choices.note_choice_point(Unguided::fault);
  EXPECT_EQ(choices.unguided(), Unguided::outside);
}

TEST(Choices, TimeThatPassesMattersWhileAnEarlyLookIsOpen) {
  const SimulationOptions options{.world_size = 2};
  Choices choices(options);
  choices.note_early_look();
  choices.note_end_of_early_look();
  choices.note_time_passed();
  EXPECT_EQ(choices.unguided(), std::nullopt);
  choices.note_early_look();
  choices.note_time_passed();
  EXPECT_EQ(choices.unguided(), Unguided::passing_time);
}

TEST(Choices, AnOpenChoiceIsNoneOnceNothingMoreHappens) {
  const SimulationOptions options{.world_size = 2};
  Choices choices(options);
  choices.note_open_choice();
  EXPECT_FALSE(choices.is_decided());
  EXPECT_EQ(choices.schedules(), Schedules::at_least_this);
  choices.set_at_rest(true);
  EXPECT_EQ(choices.schedules(), Schedules::every);
}

TEST(Choices, AScheduleOfAnotherRunGivesNoContextAndSaysWhere) {
  Schedule schedule;
  schedule.choices.push_back({5, 2});
  const SimulationOptions options{
      .world_size = 2, .scheduler = SchedulerKind::replay, .replay = schedule};
  Choices choices(options);
  choices.begin_run(2);
  RunnableSet runnable;
  runnable.insert(0);
  runnable.insert(1);
  EXPECT_EQ(choices.ask(runnable, 0), no_task);
  EXPECT_FALSE(choices.divergence().empty());
}

TEST(Choices, StepsThatAreLeftOverDiverge) {
  Schedule schedule;
  schedule.choices.push_back({1, 2});
  const SimulationOptions options{
      .world_size = 2, .scheduler = SchedulerKind::replay, .replay = schedule};
  Choices choices(options);
  choices.begin_run(2);
  choices.check_replayed_to_the_end();
  EXPECT_THAT(choices.divergence(), HasSubstr("step 0"));
}

TEST(Choices, APickIsDrawnUnlessAGuideLeads) {
  const std::vector<Access> ways(3);
  SimulationOptions options{.world_size = 2, .schedule = Recording::on};
  Choices drawn(options);
  drawn.begin_run(2);
  const std::size_t way = drawn.pick(ways);
  EXPECT_LT(way, 3U);
  EXPECT_EQ(drawn.schedules(), Schedules::at_least_this);
  EXPECT_EQ(drawn.unguided(), std::nullopt) << "an exploration tries all ways";
  const std::vector<std::uint64_t> draws = drawn.take_schedule().draws;
  ASSERT_EQ(draws.size(), 1U);
  EXPECT_EQ(draws[0] % ways.size(), way);
  options.scheduler = SchedulerKind::guided;
  options.guide = std::make_shared<Guide>();
  const Knowledge none;
  options.guide->begin({}, none);
  Choices guided(options);
  guided.begin_run(2);
  EXPECT_EQ(guided.pick(ways), 0U);
  EXPECT_FALSE(guided.unguided());
  EXPECT_TRUE(guided.is_decided());
  EXPECT_THAT(guided.take_schedule().draws, ElementsAre(0));
}

}  // namespace
}  // namespace gang::sim
