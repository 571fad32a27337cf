#include "sim/schedule/continuations.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/schedule/deeds.h"

namespace gang::sim {
namespace {

using test::deeds_of;
using testing::ElementsAre;
using testing::IsEmpty;

// A log of steps, each by the context that its accesses name.
StepLog log_of_steps(const std::vector<std::vector<Access>>& steps, std::size_t contexts = 3) {
  StepLog log;
  log.names.resize(contexts);
  log.parents.resize(contexts, no_task);
  for (const std::vector<Access>& accesses : steps) {
    StepChoice& choice = log.choices.emplace_back();
    choice.task = accesses.front().task;
    choice.chosen = 100 + choice.task;
    choice.first_access = static_cast<std::uint32_t>(log.accesses.size());
    log.accesses.insert(log.accesses.end(), accesses.begin(), accesses.end());
  }
  return log;
}

// One whose steps each do one thing.
StepLog log_of(const std::vector<Access>& steps, std::size_t contexts = 3) {
  std::vector<std::vector<Access>> of_one;
  for (const Access& access : steps) of_one.push_back({access});
  return log_of_steps(of_one, contexts);
}

Access by(TaskId task, AccessKind kind, StepKey object = 1, AccessMode mode = AccessMode::write) {
  return {
      .kind = kind, .mode = mode, .rank = static_cast<int>(task), .task = task, .object = object};
}

Access locks(TaskId task, StepKey mutex) { return by(task, AccessKind::lock, mutex); }

Access of_operation(Access access, StepKey operation, CallSite site = {}) {
  access.operation = operation;
  access.site = site;
  return access;
}

// Between ranks 0 and 1.
Contest contest_of_first_two(AccessKind kind = AccessKind::lock) {
  return {.first = by(0, kind), .second = by(1, kind)};
}

TEST(Continuations, BeginUpToTwoDeedsBeforeTheRunsPart) {
  const StepLog found = log_of({locks(0, 1), locks(0, 1), locks(0, 1), locks(1, 1)});
  const StepLog otherwise = log_of({locks(0, 1), locks(0, 1), locks(1, 1), locks(0, 1)});
  const auto [one, other] = continuations_of(found, otherwise, contest_of_first_two());
  EXPECT_THAT(deeds_of(one), ElementsAre("0: locks a mutex", "0: locks a mutex", "0: locks a mutex",
                                         "1: locks a mutex"));
  EXPECT_THAT(deeds_of(other), ElementsAre("0: locks a mutex", "0: locks a mutex",
                                           "1: locks a mutex", "0: locks a mutex"));
  const StepLog longer = log_of({locks(1, 1), locks(0, 1), locks(0, 1), locks(0, 1)});
  const StepLog parted = log_of({locks(1, 1), locks(0, 1), locks(0, 1), locks(1, 1)});
  EXPECT_EQ(continuations_of(longer, parted, contest_of_first_two()).found.deeds.size(), 3U);
}

TEST(Continuations, AreThoseOfTheRanksOfTheContest) {
  const StepLog found = log_of({locks(2, 1), locks(0, 1), locks(1, 1)});
  const StepLog otherwise = log_of({locks(2, 1), locks(1, 1), locks(2, 1), locks(0, 1)});
  const auto [one, other] = continuations_of(found, otherwise, contest_of_first_two());
  EXPECT_THAT(deeds_of(one), ElementsAre("0: locks a mutex", "1: locks a mutex"));
  EXPECT_THAT(deeds_of(other), ElementsAre("1: locks a mutex", "0: locks a mutex"));
}

TEST(Continuations, OfRunsThatDoNotPartAreEmpty) {
  const StepLog log = log_of({locks(0, 1), locks(1, 1)});
  EXPECT_THAT(deeds_of(continuations_of(log, log, contest_of_first_two()).found), IsEmpty());
  EXPECT_THAT(deeds_of(continuations_of(log, {}, contest_of_first_two()).found), IsEmpty());
  EXPECT_EQ(to_text(Continuations{}), "");
}

TEST(Continuations, SeveralMutexesHaveNames) {
  const StepLog found = log_of({locks(0, 7), locks(1, 9)});
  const StepLog otherwise = log_of({locks(1, 9), by(0, AccessKind::try_lock, attempts_on(7))});
  const auto [one, other] = continuations_of(found, otherwise, contest_of_first_two());
  EXPECT_THAT(deeds_of(one), ElementsAre("0: locks mutex A", "1: locks mutex B"));
  EXPECT_THAT(deeds_of(other), ElementsAre("1: locks mutex B", "0: tries to lock mutex A"));
}

TEST(Continuations, AnUnlockIsALineWhereTheContestIsAboutIt) {
  const Access unlock = by(0, AccessKind::unlock, attempts_on(1), AccessMode::read);
  const Access attempt = by(1, AccessKind::try_lock, attempts_on(1));
  const StepLog found = log_of({attempt, unlock});
  const StepLog otherwise = log_of({unlock, attempt});
  const auto about_locking = continuations_of(found, otherwise, contest_of_first_two());
  EXPECT_THAT(deeds_of(about_locking.otherwise), ElementsAre("1: tries to lock a mutex"));
  const Continuations about_unlocking =
      continuations_of(found, otherwise, {.first = unlock, .second = attempt});
  EXPECT_THAT(deeds_of(about_unlocking.otherwise),
              ElementsAre("0: unlocks a mutex", "1: tries to lock a mutex"));
}

TEST(Continuations, AMessageNamesItsReceiverAndAReceiveIsToldFromOtherCalls) {
  const CallSite sending = CallSite::at("a.cc", 1);
  const CallSite receiving = CallSite::at("b.cc", 2);
  const CallSite meeting = CallSite::at("c.cc", 3);
  const Access first = of_operation(by(0, AccessKind::message), 50, sending);
  const Access second = of_operation(by(1, AccessKind::message), 51, sending);
  const Access receive = of_operation(by(2, AccessKind::arrival), 52, receiving);
  const Access barrier = of_operation(by(2, AccessKind::arrival), 53, meeting);
  StepLog found = log_of({first, second, receive, barrier});
  found.taken = {{.message = 50, .rank = 2, .site = receiving}};
  const StepLog otherwise = log_of({second, first});
  Contest contest = contest_of_first_two(AccessKind::message);
  contest.receive = found.taken.front();
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest).found),
              ElementsAre("0: sends to 2 (a.cc:1)", "1: sends (a.cc:1)", "2: receives (b.cc:2)",
                          "2: calls (c.cc:3)"));
}

// A call of a rank with threads notes that it was made, what it does, and that it returned.
TEST(Continuations, AnOperationIsOneLineThatSaysTheMost) {
  const Access called = of_operation(by(0, AccessKind::call), 50, CallSite::at("a.cc", 1));
  const Access sent = of_operation(by(0, AccessKind::message), 50, CallSite::at("a.cc", 1));
  const StepLog found = log_of({called, sent, called, locks(1, 1)});
  const StepLog otherwise = log_of({locks(1, 1), called, sent, called});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: sends (a.cc:1)", "1: locks a mutex"));
}

TEST(Continuations, ALaunchIsOneLineWithItsCall) {
  const Access called = of_operation(by(0, AccessKind::call), 0, CallSite::at("a.cc", 1));
  const Access launched = of_operation(by(0, AccessKind::device), 50, CallSite::at("a.cc", 1));
  const Access other = of_operation(by(0, AccessKind::device), 51, CallSite::at("a.cc", 2));
  const StepLog found = log_of({called, launched, called, other, locks(1, 1)});
  const StepLog otherwise = log_of({locks(1, 1), called, launched, called, other});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: launches (a.cc:1)", "0: calls (a.cc:1)", "0: launches (a.cc:2)",
                          "1: locks a mutex"));
}

TEST(Continuations, WhatADevicePicksIsStarted) {
  const Access picked = of_operation(by(0, AccessKind::device), 50, CallSite::at("a.cc", 1));
  StepLog found = log_of({locks(0, 1), picked});
  found.choices[1].is_pick = true;
  const StepLog otherwise = log_of({locks(0, 1), locks(1, 1)});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: locks a mutex", "0: starts (a.cc:1)"));
}

TEST(Continuations, EachTestIsALine) {
  const Access call = of_operation(by(0, AccessKind::arrival), 50);
  const Access looked = of_operation(by(0, AccessKind::look, 1, AccessMode::look), 50);
  const StepLog found = log_of({call, looked, looked, locks(1, 1)});
  const StepLog otherwise = log_of({call, locks(1, 1), looked, looked});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: calls", "0: tests", "0: tests", "1: locks a mutex"));
}

TEST(Continuations, SayWhatElseContextsDo) {
  const StepLog found =
      log_of({by(0, AccessKind::wait), by(0, AccessKind::notification), by(0, AccessKind::key),
              by(0, AccessKind::device), by(0, AccessKind::fault), by(0, AccessKind::call),
              by(0, AccessKind::fault, 1, AccessMode::read),
              by(0, AccessKind::lock, 2, AccessMode::read)});
  const StepLog otherwise = log_of({locks(1, 1)});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: waits for a condition", "0: notifies a condition", "0: uses a key",
                          "0: launches", "0: meets its fault", "0: breaks the gang"));
}

TEST(Continuations, ACallToAStoreIsALine) {
  const Access awaited = by(0, AccessKind::presence, 1, AccessMode::read);
  const StepLog found = log_of_steps({{awaited},
                                      {awaited, by(0, AccessKind::key, 2)},
                                      {by(0, AccessKind::key, 3), by(0, AccessKind::presence, 4)}});
  const StepLog otherwise = log_of({locks(1, 1)});
  EXPECT_THAT(deeds_of(continuations_of(found, otherwise, contest_of_first_two()).found),
              ElementsAre("0: waits for a key", "0: uses a key", "0: uses a key"));
}

TEST(Continuations, KeepTheFirstDeedsAndCountTheOthers) {
  const std::vector<Access> many(20, locks(0, 1));
  const Continuation found =
      continuations_of(log_of(many), log_of({locks(1, 1)}), contest_of_first_two()).found;
  EXPECT_EQ(found.deeds.size(), Continuation::most_deeds);
  EXPECT_EQ(found.further, 20 - Continuation::most_deeds);
}

TEST(Continuations, AreShownSideBySide) {
  Continuations both;
  both.found = {.deeds = {{"1/loader", "locks a mutex"}}, .further = 3, .end = "deadlock"};
  both.otherwise = {.deeds = {{"1", "locks a mutex"}, {"1", "calls (a.cc:7)"}}, .end = "completed"};
  EXPECT_EQ(to_text(both),
            "  rank      as found       rank  the other way\n"
            "  1/loader  locks a mutex  1     locks a mutex\n"
            "            (3 more)       1     calls (a.cc:7)\n"
            "            → deadlock           → completed\n");
}

TEST(Continuations, FitOnATerminal) {
  const std::string place = " (" + std::string(40, 'x') + ".cc:123456)";
  Continuations both;
  both.found = {.deeds = {{"1/loader", "calls" + place}}, .end = "deadlock"};
  both.otherwise = {.deeds = {{"1023/checkpoint", "calls" + place}}, .end = "completed"};
  std::istringstream lines(to_text(both));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

}  // namespace
}  // namespace gang::sim
