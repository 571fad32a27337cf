#include "sim/schedule/happens_before.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

using test::LogWriter;
using Mark = StepMark::Kind;

// The steps of each race, as pairs.
std::vector<std::pair<std::uint32_t, std::uint32_t>> races_of(const StepLog& log) {
  const Knowledge none;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> races;
  const HappensBefore order(log, none);
  for (const Race& race : order.races()) races.emplace_back(race.first_step, race.second_step);
  return races;
}

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(HappensBefore, TwoWritesRace) {
  EXPECT_THAT(races_of(LogWriter(2).step(0).access(7).step(1).access(7).log()),
              ElementsAre(Pair(0, 1)));
}

TEST(HappensBefore, WhatCommutesDoesNotRace) {
  EXPECT_THAT(races_of(LogWriter(2).step(0).access(7).step(1).access(8).log()), IsEmpty());
  EXPECT_THAT(races_of(LogWriter(2)
                           .step(0)
                           .access(7, AccessMode::arrive)
                           .step(1)
                           .access(7, AccessMode::arrive)
                           .log()),
              IsEmpty());
}

TEST(HappensBefore, WhoIsStartedComesAfterWhoStarts) {
  EXPECT_THAT(races_of(LogWriter(2).step(0).access(7).mark(Mark::start, 1).step(1).access(7).log()),
              IsEmpty());
}

TEST(HappensBefore, WhoJoinsComesAfterWhatWasPublishedAndCarried) {
  LogWriter joined(2);
  joined.step(0).access(7).mark(Mark::publish, 50).mark(Mark::carry, 50).mark(Mark::into, 51);
  joined.step(1).mark(Mark::join, 51).access(7);
  EXPECT_THAT(races_of(joined.log()), IsEmpty());
  LogWriter other(2);
  other.step(0).access(7).mark(Mark::publish, 50).step(1).mark(Mark::join, 51).access(7);
  EXPECT_THAT(races_of(other.log()), ElementsAre(Pair(0, 1)));
}

TEST(HappensBefore, NothingRacesAcrossARest) {
  EXPECT_THAT(races_of(LogWriter(2).step(0).access(7).mark(Mark::rest).step(1).access(7).log()),
              IsEmpty());
}

TEST(HappensBefore, OnlyTheLatestOfOrderedStepsRaces) {
  EXPECT_THAT(races_of(LogWriter(2).step(0).access(7).step(0).access(7).step(1).access(7).log()),
              ElementsAre(Pair(1, 2)));
  EXPECT_THAT(races_of(LogWriter(3)
                           .step(0)
                           .access(7, AccessMode::arrive)
                           .step(1)
                           .access(7, AccessMode::arrive)
                           .step(2)
                           .access(7, AccessMode::look)
                           .log()),
              ElementsAre(Pair(1, 2), Pair(0, 2)));
}

TEST(HappensBefore, KnowsWhatComesAfterWhat) {
  LogWriter writer(3);
  writer.step(0).access(7).mark(Mark::start, 1).step(1).step(2).access(7);
  const Knowledge none;
  const HappensBefore order(writer.log(), none);
  EXPECT_TRUE(order.comes_after(1, 0));
  EXPECT_FALSE(order.comes_after(2, 1));
  EXPECT_TRUE(order.comes_after(2, 0));
}

TEST(HappensBefore, AmongManyContextsOneThatReadBeforeItWritesRacesTheOtherReaders) {
  constexpr AccessMode read = AccessMode::read;
  EXPECT_THAT(
      races_of(
          LogWriter(20).step(0).access(7, read).step(1).access(7, read).step(0).access(7).log()),
      ElementsAre(Pair(1, 2)));
}

TEST(HappensBefore, WhatComesBeforeAnotherStepOfARaceDoesNotRace) {
  EXPECT_THAT(races_of(LogWriter(3)
                           .step(0)
                           .access(7, AccessMode::arrive)
                           .step(1)
                           .access(7, AccessMode::look)
                           .step(2)
                           .access(7)
                           .log()),
              ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST(HappensBefore, OnlyWhatWasPublishedForAnObjectIsCarriedFromIt) {
  LogWriter log(2);
  log.step(0).access(7).mark(Mark::publish, 50).mark(Mark::carry, 50).mark(Mark::into, 51);
  log.mark(Mark::carry, 52).mark(Mark::into, 53);
  log.step(1).mark(Mark::join, 53).access(7);
  EXPECT_THAT(races_of(log.log()), ElementsAre(Pair(0, 1)));
}

}  // namespace
}  // namespace gang::sim
