#include "sim/schedule/guide.h"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/replay_scheduler.h"
#include "sim/schedule/sampler.h"
#include "tests/sim/schedule/logs.h"
#include "tests/sim/schedule/no_knowledge.h"

namespace gang::sim {
namespace {

RunnableSet runnable_of(std::initializer_list<TaskId> tasks) {
  RunnableSet runnable;
  for (const TaskId task : tasks) runnable.insert(task);
  return runnable;
}

// The keys of the contexts of a world.
std::vector<StepKey> keys(int world_size) {
  Guide guide;
  guide.begin({}, test::no_knowledge);
  guide.begin_run(world_size);
  return guide.log().contexts;
}

Guide guided(Beginning beginning, int world_size = 3) {
  Guide guide;
  guide.begin(std::move(beginning), test::no_knowledge);
  guide.begin_run(world_size);
  return guide;
}

Access written(StepKey object) { return {.mode = AccessMode::write, .object = object}; }
const std::vector<Access> written_7 = {written(7)};

TEST(Guide, GoesOnWithTheContextThatRunsAndElseWithTheNext) {
  Guide guide = guided({});
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 0);
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), 1), 1);
  EXPECT_EQ(guide.choose(runnable_of({0, 2}), 1), 2);
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), 2), 0);
}

TEST(Guide, BeginsAsItIsTold) {
  const auto key = keys(3);
  Guide guide = guided({.choices = {key[2], key[1]}});
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 2);
  guide.access(written(7));
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), 2), 1);
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), 1), 1);
  EXPECT_THAT(test::enabled_at(guide.log(), guide.log().choices[0]),
              testing::ElementsAreArray(key));
}

// Then whoever could come first could have come before it.
TEST(Guide, AStepThatHasDoneNothingGoesOnWithoutAChoice) {
  const auto key = keys(2);
  const auto choices_after = [&key](const std::function<void(Guide&)>& act) {
    Guide guide = guided({.choices = {key[0], key[1]}});
    guide.choose(runnable_of({0, 1}), no_task);
    act(guide);
    const bool goes_on = guide.goes_on(0);
    EXPECT_EQ(guide.choose(runnable_of({0, 1}), 0), goes_on ? 0 : 1);
    return guide.log().choices.size();
  };
  EXPECT_EQ(choices_after([](Guide&) {}), 1U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.join(8); }), 1U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.access(written(7)); }), 2U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.publish(8); }), 2U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.started(2, "child"); }), 2U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.rests(); }), 2U);
  EXPECT_EQ(choices_after([](Guide& guide) { guide.wants(50); }), 2U);
}

TEST(Guide, WhereItChoosesAtEveryCallNoStepGoesOn) {
  const auto key = keys(2);
  Guide guide = guided({.choices = {key[0], key[1]}, .chooses_at_every_call = true});
  guide.choose(runnable_of({0, 1}), no_task);
  EXPECT_FALSE(guide.goes_on(0));
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), 0), 1);
}

TEST(Guide, OnlyTheContextOfTheStepGoesOnAndIfItCan) {
  Guide guide = guided({});
  EXPECT_FALSE(guide.goes_on(0)) << "no step has begun";
  guide.choose(runnable_of({0, 1}), no_task);
  EXPECT_FALSE(guide.goes_on(1));
  EXPECT_EQ(guide.choose(runnable_of({1}), 0), 1);
  EXPECT_TRUE(guide.goes_on(1));
}

TEST(Guide, SaysThatItsBeginningDoesNotFit) {
  Guide guide = guided({.choices = {keys(3)[2]}});
  EXPECT_THROW(guide.choose(runnable_of({0, 1}), no_task), ScheduleDivergence);
  EXPECT_TRUE(guide.has_diverged());
  EXPECT_FALSE(guide.is_cut());
}

TEST(Guide, LetsSleepersSleepUntilSomethingThatMattersHappens) {
  const auto key = keys(3);
  Guide guide = guided({.choices = {key[1]}, .sleeping = {{key[0], written_7}}});
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 1);
  guide.access(written(8));
  EXPECT_EQ(guide.choose(runnable_of({0, 2}), 1), 2);
  guide.access(written(7));
  EXPECT_EQ(guide.choose(runnable_of({0}), 2), 0);
}

TEST(Guide, CutsARunInWhichOnlySleepersAreLeft) {
  const auto key = keys(3);
  Guide guide = guided({.choices = {key[1]}, .sleeping = {{key[0], written_7}}});
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), no_task), 1);
  EXPECT_THROW(guide.choose(runnable_of({0}), 1), ScheduleDivergence);
  EXPECT_TRUE(guide.is_cut());
}

TEST(Guide, AContextDoesNotRunWhileItsMutexIsHeld) {
  Guide guide = guided({});
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 0);
  guide.wants(50);
  EXPECT_EQ(guide.choose(runnable_of({1, 2}), 0), 1);
  guide.took(50);
  EXPECT_EQ(guide.choose(runnable_of({0, 2}), 1), 2);
  EXPECT_EQ(test::enabled_at(guide.log(), guide.log().choices.back()).size(), 1U);
  guide.released(50);
  EXPECT_EQ(guide.choose(runnable_of({0}), 2), 0);
}

TEST(Guide, KeysDoNotDependOnTheOrderOfContexts) {
  const auto of_child = [](TaskId first, TaskId second) {
    Guide guide = guided({});
    guide.choose(runnable_of({first}), no_task);
    guide.started(3, "a");
    guide.choose(runnable_of({second}), first);
    guide.started(4, "b");
    return std::pair{guide.log().contexts[3], guide.log().contexts[4]};
  };
  const auto [a, b] = of_child(0, 1);
  EXPECT_EQ(of_child(1, 0), std::pair(b, a));
  EXPECT_NE(a, b);
}

TEST(Guide, WhatHappensAtRestIsDueToNoContext) {
  Guide guide = guided({});
  guide.choose(runnable_of({0, 1}), no_task);
  guide.rests();
  guide.access(written(7));
  EXPECT_THAT(guide.log().accesses, testing::IsEmpty());
}

TEST(Guide, LeadsARunThatIsTooLongToBeNoted) {
  Guide guide = guided({});
  guide.choose(runnable_of({0, 1}), no_task);
  for (int i = 0; i < 5'000'000 && !guide.is_full(); ++i) guide.access(written(7));
  EXPECT_TRUE(guide.is_full());
  EXPECT_THAT(guide.log().accesses, testing::IsEmpty());
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), 1), 1);
  EXPECT_THAT(guide.log().choices, testing::IsEmpty());
  guide.begin({}, test::no_knowledge);
  guide.begin_run(3);
  EXPECT_FALSE(guide.is_full());
}

TEST(Guide, AContextThatHasTakenItsMutexGoesOn) {
  Guide guide = guided({});
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), no_task), 0);
  guide.wants(50);
  guide.took(50);
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), 0), 0);
}

TEST(Guide, WhereAllWaitForMutexesOneRunsAllTheSame) {
  Guide guide = guided({});
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), no_task), 0);
  guide.wants(50);
  EXPECT_EQ(guide.choose(runnable_of({1}), 0), 1);
  guide.took(50);
  EXPECT_EQ(guide.choose(runnable_of({0}), 1), 0);
}

TEST(Guide, KnowsNothingOfTheMutexesOfAnEarlierRun) {
  Guide guide = guided({});
  const auto begin_anew = [&guide] {
    guide.choose(runnable_of({0}), no_task);
    guide.wants(50);
    guide.choose(runnable_of({1}), 0);
    guide.took(50);
    guide.begin({}, test::no_knowledge);
    guide.begin_run(3);
  };
  begin_anew();
  guide.choose(runnable_of({0}), no_task);
  guide.wants(50);
  EXPECT_EQ(guide.choose(runnable_of({0, 1}), 0), 0) << "it is not held";
  begin_anew();
  guide.choose(runnable_of({1}), no_task);
  guide.took(50);
  guide.choose(runnable_of({0, 2}), 1);
  EXPECT_EQ(test::enabled_at(guide.log(), guide.log().choices.back()).size(), 2U)
      << "nobody wants it";
}

TEST(Guide, EveryRunBeginsUncut) {
  Guide guide = guided({.choices = {keys(3)[2]}});
  EXPECT_THROW(guide.choose(runnable_of({0, 1}), no_task), ScheduleDivergence);
  guide.begin({}, test::no_knowledge);
  guide.begin_run(3);
  EXPECT_FALSE(guide.has_diverged());
  EXPECT_FALSE(guide.is_cut());
}

class LastFirst final : public Sampler {
 public:
  TaskId choose(ContextBits enabled) override { return *std::ranges::max_element(enabled); }
  void note_step(const SampledStep&) override {}
};

TEST(Guide, ARunThatBeginsAsItIsToldIsNotDrawn) {
  Guide guide = guided({});
  guide.sample(std::make_unique<LastFirst>(), test::no_knowledge);
  guide.begin_run(3);
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 2);
  guide.begin({}, test::no_knowledge);
  guide.begin_run(3);
  EXPECT_EQ(guide.choose(runnable_of({0, 1, 2}), no_task), 0);
}

TEST(Guide, PicksTheFirstWayAndElseThatOfItsBeginning) {
  const std::vector<Access> ways = {written(71), written(72), written(73)};
  Guide guide = guided({});
  guide.choose(runnable_of({0, 1}), no_task);
  EXPECT_EQ(guide.pick(ways), 0U);
  guide.begin({.choices = {keys(3)[0], 73}}, test::no_knowledge);
  guide.begin_run(3);
  guide.choose(runnable_of({0, 1}), no_task);
  EXPECT_EQ(guide.pick(ways), 2U);
  const StepLog& log = guide.log();
  ASSERT_EQ(log.choices.size(), 2U);
  EXPECT_EQ(log.choices[1].chosen, 73U);
  EXPECT_THAT(test::enabled_at(log, log.choices[1]), testing::ElementsAre(71, 72, 73));
  ASSERT_EQ(log.ways_at(log.choices[1]).size(), 3U);
  EXPECT_TRUE(log.ways_at(log.choices[0]).empty());
  EXPECT_EQ(log.accesses.back().object, 73U);
  EXPECT_EQ(log.accesses.back().task, 0U);  // a step of the context that picks
}

TEST(Guide, SaysThatAWayOfItsBeginningIsNotThere) {
  Guide guide = guided({.choices = {keys(3)[0], 99}});
  guide.choose(runnable_of({0, 1}), no_task);
  EXPECT_EQ(guide.pick(written_7), 0U);
  EXPECT_TRUE(guide.has_diverged());
}

}  // namespace
}  // namespace gang::sim
