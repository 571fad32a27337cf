#include "sim/schedule/step_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/guide.h"
#include "tests/sim/schedule/no_knowledge.h"

namespace gang::sim {
namespace {

// A writer in the first step of rank 0 of two.
Guide writing() {
  Guide guide;
  guide.begin(Beginning{}, test::no_knowledge);
  guide.begin_run(2);
  RunnableSet runnable;
  runnable.insert(0);
  runnable.insert(1);
  guide.choose(runnable, no_task);
  return guide;
}

TEST(StepWriter, NamesObjectsByWhoMadeThem) {
  Guide writer = writing();
  const StepKey first = writer.new_object();
  EXPECT_NE(first, writer.new_object());
  EXPECT_EQ(first, writing().new_object());
}

TEST(StepWriter, WhatIsMadeAtRestIsNoRank) {
  Guide writer = writing();
  writer.rests();
  EXPECT_THAT(writer.log().contexts, testing::Not(testing::Contains(writer.new_object())));
}

TEST(StepWriter, EveryOperationHasAKeyThatIsPublished) {
  Guide writer = writing();
  const StepKey first = writer.posted();
  const StepKey second = writer.posted();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  ASSERT_EQ(writer.log().marks.size(), 2u);
  EXPECT_EQ(writer.log().marks[0].kind, StepMark::Kind::publish);
  EXPECT_EQ(writer.log().marks[0].value, first);
  EXPECT_EQ(writer.log().marks[1].value, second);
}

TEST(StepWriter, KnowsWhoStartedAContext) {
  Guide writer = writing();
  writer.started(2, "loader");
  EXPECT_EQ(writer.log().parents[2], 0u);
  EXPECT_EQ(writer.log().names[2], "loader");
  EXPECT_EQ(writer.log().parents[1], no_task);
}

TEST(StepWriter, NotesNothingAtRest) {
  Guide writer = writing();
  EXPECT_NE(writer.notes(), nullptr);
  writer.rests();
  EXPECT_EQ(writer.notes(), nullptr);
  writer.access({.object = 7});
  EXPECT_THAT(writer.log().accesses, testing::IsEmpty());
}

TEST(StepWriter, WhatIsMadeAtRestIsTheSameInEveryRun) {
  Guide writer = writing();
  writer.rests();
  const StepKey first = writer.new_object();
  EXPECT_NE(writer.new_object(), first);
  writer.begin_run(2);
  EXPECT_EQ(writer.new_object(), first);
}

TEST(StepWriter, NotesStartsAndRests) {
  Guide writer = writing();
  writer.started(2, "loader");
  EXPECT_EQ(writer.log().marks.back().kind, StepMark::Kind::start);
  EXPECT_EQ(writer.log().marks.back().value, 2u);
  writer.rests();
  EXPECT_EQ(writer.log().marks.back().kind, StepMark::Kind::rest);
}

TEST(StepWriter, NobodyStartsWhatBeginsAtRest) {
  Guide writer = writing();
  writer.rests();
  writer.started(2, "timer");
  EXPECT_EQ(writer.log().parents[2], no_task);
}

}  // namespace
}  // namespace gang::sim
