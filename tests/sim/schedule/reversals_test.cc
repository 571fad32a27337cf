#include "sim/schedule/reversals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/collective.h"
#include "tests/sim/schedule/logs.h"
#include "tests/sim/schedule/no_knowledge.h"

namespace gang::sim {
namespace {

using test::LogWriter;
using testing::ElementsAre;

Reversals read(const StepLog& log, std::size_t first_step = 0) {
  Reversals reversals;
  reversals.read(log, test::no_knowledge, first_step);
  return reversals;
}

TEST(Reversals, OfARaceItsSecondContextRunsFirst) {
  const LogWriter log = LogWriter(2).step(0).access(1).step(1).access(1);
  const Reversals reversals = read(log.log());
  ASSERT_EQ(reversals.all().size(), 1u);
  EXPECT_THAT(reversals.initials_of(reversals.all()[0]), ElementsAre(101));
}

TEST(Reversals, WhatTheSecondStepComesAfterRunsBeforeIt) {
  // Step 2 comes after step 1, of another context.
  const LogWriter log =
      LogWriter(3).step(0).access(1).step(1).access(2).step(2).access(2).access(1);
  const Reversals reversals = read(log.log());
  ASSERT_EQ(reversals.all().size(), 2u);
  const auto first_initials = reversals.initials_of(reversals.all()[0]);
  const auto second_initials = reversals.initials_of(reversals.all()[1]);
  EXPECT_THAT(first_initials, ElementsAre(102)) << "of steps 1 and 2";
  EXPECT_THAT(second_initials, ElementsAre(101)) << "of steps 0 and 2";
}

TEST(Reversals, RacesOfEarlierRunsAreLeftOut) {
  const LogWriter log = LogWriter(3).step(0).access(1).step(1).access(1).step(2).access(1);
  EXPECT_EQ(read(log.log()).all().size(), 2u);
  EXPECT_EQ(read(log.log(), 2).all().size(), 1u);
}

TEST(Reversals, OneObjectReadsManyLogs) {
  const LogWriter racing = LogWriter(2).step(0).access(1).step(1).access(1);
  const LogWriter quiet = LogWriter(2).step(0).access(1).step(1).access(2);
  Reversals reversals;
  for (int i = 0; i < 3; ++i) {
    reversals.read(racing.log(), test::no_knowledge, 0);
    EXPECT_EQ(reversals.all().size(), 1u);
    reversals.read(quiet.log(), test::no_knowledge, 0);
    EXPECT_EQ(reversals.all().size(), 0u);
  }
}

TEST(ContestOf, HasTheStepsInTheirOrder) {
  const LogWriter log = LogWriter(2).step(1).access(7).step(0).access(7);
  const Reversals reversals = read(log.log());
  const Contest contest = contest_of(log.log(), reversals.order(), reversals.all()[0].race);
  EXPECT_EQ(contest.first.object, 7u);
  EXPECT_EQ(contest.first_context, "");
  EXPECT_FALSE(contest.receive);
}

// As a call, whatever else it did.
TEST(ContestOf, NamesTheCallOfAGangThatAnotherBroke) {
  StepLog log =
      LogWriter(2).step(1).access(7, AccessMode::arrive).step(0).access(9, AccessMode::write).log();
  log.accesses[0].kind = AccessKind::arrival;
  log.accesses[0].gang = 9;
  const Reversals reversals = read(log);
  ASSERT_EQ(reversals.all().size(), 1u);
  const Contest contest = contest_of(log, reversals.order(), reversals.all()[0].race);
  EXPECT_EQ(contest.first.kind, AccessKind::call);
  EXPECT_EQ(contest.first.mode, AccessMode::read);
  EXPECT_EQ(contest.first.object, 9u);
  EXPECT_EQ(contest.second.mode, AccessMode::write);
}

TEST(Reversals, PreferTheContextThatWasSecond) {
  const LogWriter log = LogWriter(3).step(0).access(1).step(1).access(2).step(2).access(1);
  const Reversals reversals = read(log.log());
  ASSERT_EQ(reversals.all().size(), 1u);
  EXPECT_THAT(reversals.initials_of(reversals.all()[0]), ElementsAre(102, 101));
}

TEST(ContestOf, NamesBothContextsAndTheReceiveThatTookOneOfTheMessages) {
  StepLog log = LogWriter(2).step(1).access(7).step(0).access(7).log();
  log.names = {"saver", "loader"};
  for (std::size_t i : {0, 1}) {
    log.accesses[i].kind = AccessKind::message;
    log.accesses[i].operation = 50 + i;
  }
  log.taken = {{.message = 40, .rank = 3}, {.message = 51, .rank = 4}};
  Reversals reversals;
  reversals.read(log, {.any_receives = {{7, any_tag}}}, 0);
  ASSERT_EQ(reversals.all().size(), 1u);
  const Contest contest = contest_of(log, reversals.order(), reversals.all()[0].race);
  EXPECT_EQ(contest.first_context, "loader");
  EXPECT_EQ(contest.second_context, "saver");
  ASSERT_TRUE(contest.receive);
  EXPECT_EQ(contest.receive->rank, 4);
  log.accesses[1].kind = AccessKind::look;  // a test, which may see the message
  EXPECT_FALSE(contest_of(log, reversals.order(), reversals.all()[0].race).receive);
  for (Access& access : log.accesses) access.kind = AccessKind::lock;
  EXPECT_FALSE(contest_of(log, reversals.order(), reversals.all()[0].race).receive);
}

}  // namespace
}  // namespace gang::sim
