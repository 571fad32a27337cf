#include "sim/schedule/step_log.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/collective.h"
#include "tests/sim/schedule/logs.h"

namespace gang::sim {
namespace {

Access message(StepKey mailbox, std::int32_t tag) {
  return {.kind = AccessKind::message, .mode = AccessMode::write, .tag = tag, .object = mailbox};
}

Access access(StepKey object, AccessMode mode) { return {.mode = mode, .object = object}; }

bool do_conflict(const std::vector<Access>& a, const std::vector<Access>& b,
                 const Knowledge& known) {
  return conflict(a, b, known);
}

TEST(StepLog, WhatEachStepDid) {
  test::LogWriter writer(2);
  writer.step(0).access(7).mark(StepMark::Kind::publish, 50).step(1).access(8).access(9).step(0);
  const StepLog& log = writer.log();
  ASSERT_EQ(log.marks_of(0).size(), 1U);
  EXPECT_EQ(log.marks_of(0).back().value, 50U);
  EXPECT_EQ(log.marks_of(0).back().accesses, 1U);
  EXPECT_TRUE(log.marks_of(1).empty());
  EXPECT_TRUE(log.marks_of(2).empty());
  ASSERT_EQ(log.accesses_of(0).size(), 1U);
  EXPECT_EQ(log.accesses_of(0).front().object, 7U);
  ASSERT_EQ(log.accesses_of(1).size(), 2U);
  EXPECT_EQ(log.accesses_of(1).front().object, 8U);
  EXPECT_TRUE(log.accesses_of(2).empty());
}

TEST(StepLog, WhoCouldHaveMadeAStepOrTheWaysOfAPick) {
  test::LogWriter writer(2);
  writer.step(1);
  StepLog log = writer.log();
  log.ways = {access(70, AccessMode::read), access(71, AccessMode::write),
              access(72, AccessMode::write)};
  log.choices.push_back(
      {.chosen = 72, .task = 1, .first_enabled = 1, .enabled_size = 2, .is_pick = true});
  EXPECT_THAT(test::enabled_at(log, log.choices[0]), testing::ElementsAre(100, 101));
  EXPECT_THAT(test::enabled_at(log, log.choices[1]), testing::ElementsAre(71, 72));
  EXPECT_TRUE(log.ways_at(log.choices[0]).empty());
  EXPECT_EQ(log.ways_at(log.choices[1]).size(), 2U);
}

TEST(StepLog, ModesKnowWhichDoNotCommuteWithThem) {
  using enum AccessMode;
  for (const AccessMode mode : {read, write, arrive, look}) {
    const AccessModes conflicting = AccessModes::conflicting_with(mode);
    std::vector<AccessMode> all;
    conflicting.for_each([&all](AccessMode other) { all.push_back(other); });
    std::vector<AccessMode> expected;
    for (const AccessMode other : {read, write, arrive, look}) {
      EXPECT_EQ(conflicting.contains(other), conflict(mode, other));
      if (conflict(mode, other)) expected.push_back(other);
    }
    EXPECT_EQ(all, expected);
  }
  EXPECT_TRUE(AccessModes().empty());
  EXPECT_TRUE((AccessModes(read) & AccessModes(write)).empty());
  EXPECT_TRUE((AccessModes(read) | AccessModes(write)).contains(write));
}

TEST(StepLog, OnlyWritesAndLooksAtArrivalsConflict) {
  using enum AccessMode;
  for (const AccessMode mode : {read, write, arrive, look}) EXPECT_TRUE(conflict(write, mode));
  EXPECT_TRUE(conflict(arrive, look));
  EXPECT_FALSE(conflict(arrive, arrive));
  EXPECT_FALSE(conflict(look, look));
  EXPECT_FALSE(conflict(read, read));
  EXPECT_FALSE(conflict(read, look));
}

TEST(StepLog, AccessesToDifferentObjectsCommute) {
  const Knowledge none;
  EXPECT_TRUE(do_conflict({access(1, AccessMode::write)}, {access(1, AccessMode::read)}, none));
  EXPECT_FALSE(do_conflict({access(1, AccessMode::write)}, {access(2, AccessMode::write)}, none));
}

TEST(StepLog, ACallConflictsWithWhatBreaksItsGang) {
  const Knowledge none;
  Access call = access(1, AccessMode::arrive);
  call.gang = 9;
  EXPECT_TRUE(do_conflict({call}, {access(9, AccessMode::write)}, none));
  EXPECT_TRUE(do_conflict({access(9, AccessMode::write)}, {call}, none));
  EXPECT_FALSE(do_conflict({call}, {access(9, AccessMode::read)}, none));
  EXPECT_FALSE(do_conflict({call}, {access(8, AccessMode::write)}, none));
  EXPECT_FALSE(do_conflict({access(1, AccessMode::read)}, {access(0, AccessMode::write)}, none));
  EXPECT_FALSE(do_conflict({call}, {call}, none));
  std::vector<UsedObject> objects;
  add_objects(call, none, objects);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].object, 9U);
  EXPECT_EQ(objects[0].mode, AccessMode::read);
  EXPECT_EQ(objects[1].object, 1U);
  EXPECT_EQ(objects[1].mode, AccessMode::arrive);
}

TEST(StepLog, MessagesConflictOnlyWhereOneReceiveCouldTakeEither) {
  const Knowledge none;
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 0)}, none));
  const Knowledge of_tag_5{.any_receives = {{1, 5}}};
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 5)}, of_tag_5));
  EXPECT_TRUE(do_conflict({message(1, 5)}, {message(1, 5)}, of_tag_5));
  EXPECT_FALSE(do_conflict({message(2, 5)}, {message(2, 5)}, of_tag_5));
  EXPECT_TRUE(
      do_conflict({message(1, 0)}, {message(1, 5)}, Knowledge{.any_receives = {{1, any_tag}}}));
}

TEST(StepLog, AReceiveOfATagCouldTakeNoMessageOfAnother) {
  const Knowledge of_tag_5{.any_receives = {{1, 5}}};
  EXPECT_FALSE(do_conflict({message(1, 5)}, {message(1, 0)}, of_tag_5));
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 0)}, of_tag_5));
}

TEST(StepLog, AMessageConflictsWithLooksForIt) {
  const Knowledge none;
  Access sent = message(1, 5);
  sent.rank = 3;
  const auto look_at = [](StepKey object) { return access(object, AccessMode::look); };
  for (const StepKey seen : {coming_to(1), coming_from(3, 1)}) {
    EXPECT_TRUE(do_conflict({sent}, {look_at(seen)}, none));
    EXPECT_TRUE(do_conflict({look_at(seen)}, {sent}, none));
    EXPECT_FALSE(do_conflict({access(seen, AccessMode::arrive)}, {sent}, none));
  }
  for (const StepKey not_seen : {coming_to(2), coming_from(0, 1), coming_from(3, 2)})
    EXPECT_FALSE(do_conflict({sent}, {look_at(not_seen)}, none));
}

TEST(StepLog, AMessageArrivesWhereLooksWouldFindIt) {
  Access sent = message(1, 5);
  sent.rank = 3;
  std::vector<UsedObject> objects;
  add_arrivals(sent, objects);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].object, coming_to(1));
  EXPECT_EQ(objects[1].object, coming_from(3, 1));
  for (const UsedObject& used : objects) EXPECT_EQ(used.mode, AccessMode::arrive);
}

// And for those who look for it, wherever it arrives.
TEST(StepLog, AMessageCountsForEachReceiveThatCouldTakeIt) {
  const auto objects_of = [](const Access& access, const Knowledge& known) {
    std::vector<UsedObject> objects;
    add_objects(access, known, objects);
    return objects.size();
  };
  const Knowledge known{.any_receives = {{1, 5}, {1, 6}, {1, any_tag}}};
  EXPECT_EQ(objects_of(message(1, 5), known), 2U + 2U);
  EXPECT_EQ(objects_of(message(1, 7), known), 1U + 2U);
  EXPECT_EQ(objects_of(message(2, 5), known), 2U);
  EXPECT_EQ(objects_of(access(2, AccessMode::read), known), 1U);
}

TEST(StepLog, MergingAddsWhatIsNew) {
  Knowledge known{.any_receives = {{1, 6}}};
  for (const Knowledge& further :
       {Knowledge{.any_receives = {{1, 5}, {1, 6}}},
        Knowledge{.any_receives = {{2, 5}}, .erased_keys = {7}}, Knowledge{.erased_keys = {8}}}) {
    EXPECT_FALSE(contains(known, further));
    merge(known, further);
    EXPECT_TRUE(contains(known, further));
  }
  EXPECT_TRUE(contains(known, {.any_receives = {{1, 6}}, .erased_keys = {8}}));
  EXPECT_FALSE(contains(known, {.any_receives = {{1, 6}, {1, 7}}}));
  EXPECT_FALSE(contains(known, {.erased_keys = {9}}));
  EXPECT_EQ(known, (Knowledge{.any_receives = {{1, 5}, {1, 6}, {2, 5}}, .erased_keys = {7, 8}}));
}

TEST(StepLog, KeysThatAreAwaitedTogetherWithAnErasedOneCountAsErased) {
  Knowledge known;
  merge(known, {.awaited_together = {{4, 3}, {2, 3}, {1, 2}, {8, 9}}});
  EXPECT_TRUE(known.erased_keys.empty());
  merge(known, {.erased_keys = {4}});
  EXPECT_EQ(known.erased_keys, (boost::container::flat_set<StepKey>{1, 2, 3, 4}));
}

TEST(StepLog, WhetherAKeyIsThereMattersOnlyWhereARankErasesIt) {
  const Access made{.kind = AccessKind::presence, .mode = AccessMode::write, .object = 7};
  const Access awaited{.kind = AccessKind::presence, .mode = AccessMode::read, .object = 7};
  const Knowledge none;
  const Knowledge of_others{.erased_keys = {8}};
  const Knowledge erased{.erased_keys = {7}, .awaited_together = {{7, 8}}};
  std::vector<UsedObject> objects;
  for (const Knowledge& known : {none, of_others}) {
    EXPECT_FALSE(do_conflict({made}, {awaited}, known));
    add_objects(made, known, objects);
    EXPECT_TRUE(objects.empty());
  }
  EXPECT_TRUE(do_conflict({made}, {awaited}, erased));
  EXPECT_FALSE(do_conflict({awaited}, {awaited}, erased));
  add_objects(made, erased, objects);
  ASSERT_EQ(objects.size(), 1U);
  EXPECT_EQ(objects[0].object, 7U);
  EXPECT_EQ(objects[0].mode, AccessMode::write);
}

TEST(StepLog, OnceClearedHoldsNothing) {
  StepLog log = test::LogWriter(2).step(0).access(7).mark(StepMark::Kind::publish, 50).log();
  log.taken.push_back({});
  log.knowledge = {.any_receives = {{1, 5}}, .erased_keys = {7}, .awaited_together = {{7, 8}}};
  log.seats[1] = 0;
  log.is_incomplete = true;
  log.clear();
  EXPECT_TRUE(log.marks.empty() && log.accesses.empty());
  EXPECT_TRUE(log.choices.empty() && log.enabled.empty());
  EXPECT_TRUE(log.contexts.empty() && log.names.empty() && log.parents.empty());
  EXPECT_TRUE(log.taken.empty() && log.knowledge == Knowledge{} && log.seats.empty());
  EXPECT_FALSE(log.is_incomplete);
}

}  // namespace
}  // namespace gang::sim
