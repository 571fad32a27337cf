#include "sim/schedule/step_log.h"

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
                 const AnyReceives& known) {
  return conflict(a, b, known);
}

TEST(StepLog, TheMarksOfAStepAndOfThoseAfterIt) {
  test::LogWriter writer(2);
  writer.step(0).access(7).step(1).access(7).step(0);
  const StepLog& log = writer.log();
  EXPECT_EQ(log.marks_from(0).size(), 5U);
  ASSERT_EQ(log.marks_from(1).size(), 3U);
  EXPECT_EQ(log.marks_from(1).front().kind, StepMark::Kind::step);
  EXPECT_EQ(log.marks_from(1).front().value, 1U);
  EXPECT_EQ(log.marks_from(2).size(), 1U);
  EXPECT_TRUE(log.marks_from(3).empty());
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
  const AnyReceives none;
  EXPECT_TRUE(do_conflict({access(1, AccessMode::write)}, {access(1, AccessMode::read)}, none));
  EXPECT_FALSE(do_conflict({access(1, AccessMode::write)}, {access(2, AccessMode::write)}, none));
}

TEST(StepLog, MessagesConflictOnlyWhereOneReceiveCouldTakeEither) {
  const AnyReceives none;
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 0)}, none));
  const AnyReceives of_tag_5{{1, 5}};
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 5)}, of_tag_5));
  EXPECT_TRUE(do_conflict({message(1, 5)}, {message(1, 5)}, of_tag_5));
  EXPECT_FALSE(do_conflict({message(2, 5)}, {message(2, 5)}, of_tag_5));
  EXPECT_TRUE(do_conflict({message(1, 0)}, {message(1, 5)}, AnyReceives{{1, any_tag}}));
}

TEST(StepLog, AReceiveOfATagCouldTakeNoMessageOfAnother) {
  const AnyReceives of_tag_5{{1, 5}};
  EXPECT_FALSE(do_conflict({message(1, 5)}, {message(1, 0)}, of_tag_5));
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 0)}, of_tag_5));
}

TEST(StepLog, AMessageCountsForEachReceiveThatCouldTakeIt) {
  const auto objects_of = [](const Access& access, const AnyReceives& known) {
    std::vector<StepKey> objects;
    add_objects(access, known, objects);
    return objects.size();
  };
  const AnyReceives known{{1, 5}, {1, 6}, {1, any_tag}};
  EXPECT_EQ(objects_of(message(1, 5), known), 2U);
  EXPECT_EQ(objects_of(message(1, 7), known), 1U);
  EXPECT_EQ(objects_of(message(2, 5), known), 0U);
  EXPECT_EQ(objects_of(access(2, AccessMode::read), known), 1U);
}

TEST(StepLog, MergingAddsWhatIsNew) {
  AnyReceives known{{1, 6}};
  for (const AnyReceives& further : {AnyReceives{{1, 5}, {1, 6}}, AnyReceives{{2, 5}}}) {
    EXPECT_FALSE(contains(known, further));
    merge(known, further);
    EXPECT_TRUE(contains(known, further));
  }
  EXPECT_TRUE(contains(known, {{1, 6}}));
  EXPECT_FALSE(contains(known, {{1, 6}, {1, 7}}));
  EXPECT_EQ(known, (AnyReceives{{1, 5}, {1, 6}, {2, 5}}));
}

TEST(StepLog, OnceClearedHoldsNothing) {
  StepLog log = test::LogWriter(2).step(0).access(7).log();
  log.taken.push_back({});
  log.any_receives.insert({1, 5});
  log.seats[1] = 0;
  log.is_incomplete = true;
  log.clear();
  EXPECT_TRUE(log.marks.empty() && log.accesses.empty());
  EXPECT_TRUE(log.choices.empty() && log.enabled.empty());
  EXPECT_TRUE(log.contexts.empty() && log.names.empty() && log.parents.empty());
  EXPECT_TRUE(log.taken.empty() && log.any_receives.empty() && log.seats.empty());
  EXPECT_FALSE(log.is_incomplete);
}

}  // namespace
}  // namespace gang::sim
