#include "sim/schedule/known_contests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

using test::LogWriter;

std::vector<Access> write(StepKey object) {
  return {{.mode = AccessMode::write, .object = object}};
}

KnownContests learned(const StepLog& log) {
  KnownContests known;
  known.learn(log);
  known.measure(log);
  return known;
}

TEST(KnownContests, WhatTwoContextsWriteIsContested) {
  const LogWriter log = LogWriter(2).step(0).access(1).access(2).step(1).access(1).access(3);
  const KnownContests known = learned(log.log());
  EXPECT_TRUE(known.is_contested(write(1)));
  EXPECT_FALSE(known.is_contested(write(2)));
  EXPECT_FALSE(known.is_contested({}));
}

TEST(KnownContests, WhatTwoContextsReadIsNot) {
  const LogWriter log =
      LogWriter(2).step(0).access(1, AccessMode::read).step(1).access(1, AccessMode::read);
  EXPECT_FALSE(learned(log.log()).is_contested(write(1)));
}

TEST(KnownContests, WhatHasNotBeenSeenMayBe) {
  EXPECT_TRUE(learned(LogWriter(1).step(0).access(1).log()).is_contested(write(9)));
}

TEST(KnownContests, CountsContestedSteps) {
  LogWriter log(3);
  log.step(0).access(1).step(0).access(2).step(1).access(1).step(2).step(1).access(1);
  const KnownContests known = learned(log.log());
  EXPECT_EQ(known.steps(), 3u);
  EXPECT_EQ(known.contested_accesses(log.log()), 3u);
  EXPECT_EQ(known.contexts(), 3u);
}

TEST(KnownContests, MessagesAreContestedWhereAReceiveCouldTakeBoth) {
  StepLog log = LogWriter(2).step(0).access(1).step(1).access(1).log();
  for (Access& access : log.accesses) access.kind = AccessKind::message;
  const std::vector<Access> sent = {
      {.kind = AccessKind::message, .mode = AccessMode::write, .object = 1}};
  EXPECT_FALSE(learned(log).is_contested(sent));
  log.knowledge.any_receives.insert({1, 0});
  EXPECT_TRUE(learned(log).is_contested(sent));
}

TEST(KnownContests, MessagesAreContestedWhereALookCouldSeeThem) {
  const Access sent{.kind = AccessKind::message, .mode = AccessMode::write, .rank = 0, .object = 1};
  LogWriter log = LogWriter(2).step(0).send(1);
  EXPECT_FALSE(learned(log.log()).is_contested({{sent}}));
  log.step(1).access(coming_from(0, 1), AccessMode::look);
  EXPECT_TRUE(learned(log.log()).is_contested({{sent}}));
}

TEST(KnownContests, RemembersTheStepsOfAContext) {
  const LogWriter log = LogWriter(2).step(0).access(1).step(1).access(2).step(0).access(3);
  const KnownContests known = learned(log.log());
  ASSERT_NE(known.step_of(100, 1), nullptr);
  EXPECT_THAT(*known.step_of(100, 1), testing::ElementsAre(testing::Field(&Access::object, 3)));
  EXPECT_EQ(known.step_of(100, 2), nullptr);
  EXPECT_EQ(known.step_of(7, 0), nullptr);
}

TEST(KnownContests, KeepsTheMostOfAllRunsAndTheStepsOfTheLatest) {
  const LogWriter larger = LogWriter(3).step(0).access(1).step(0).access(1).step(1).access(1);
  const LogWriter smaller = LogWriter(2).step(0).access(1).step(1).access(1);
  KnownContests known;
  for (const LogWriter* log : {&larger, &smaller}) {
    known.learn(log->log());
    known.measure(log->log());
  }
  EXPECT_EQ(known.contexts(), 3u);
  EXPECT_EQ(known.steps(), 3u);
  EXPECT_NE(known.step_of(100, 0), nullptr);
  EXPECT_EQ(known.step_of(100, 1), nullptr);
}

TEST(KnownContests, AContextMayReadAndWrite) {
  LogWriter log(2);
  log.step(0).access(1, AccessMode::read).access(1).step(1).access(1, AccessMode::read);
  EXPECT_TRUE(learned(log.log()).is_contested(write(1)));
}

}  // namespace
}  // namespace gang::sim
