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
  const AnyReceives of_tag_5{{1, {5}}};
  EXPECT_FALSE(do_conflict({message(1, 0)}, {message(1, 5)}, of_tag_5));
  EXPECT_TRUE(do_conflict({message(1, 5)}, {message(1, 5)}, of_tag_5));
  EXPECT_FALSE(do_conflict({message(2, 5)}, {message(2, 5)}, of_tag_5));
  EXPECT_TRUE(do_conflict({message(1, 0)}, {message(1, 5)}, AnyReceives{{1, {any_tag}}}));
}

}  // namespace
}  // namespace gang::sim
