#include "sim/backends/gloo/gloo_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/guide.h"
#include "tests/sim/schedule/no_knowledge.h"

namespace gang::sim {
namespace {

class GlooStepsTest : public testing::Test {
 protected:
  GlooStepsTest() {
    guide_.begin({}, test::no_knowledge);
    guide_.begin_run(2);
    guide_.watch(0);
  }

  static GlooStep step(std::uint64_t slot, StepKey buffer) {
    return {.meeting = 7,
            .member = 1,
            .slot = slot,
            .buffer = buffer,
            .rank = 5,
            .call_site = CallSite::at("here", 3)};
  }
  const StepLog& log() const { return guide_.log(); }

  Guide guide_;
};

TEST_F(GlooStepsTest, ASendIsAMessageOfItsSlotThatOthersComeAfter) {
  note_send(guide_, step(4, 100), 0);
  note_send(guide_, step(4, 101), 0);
  note_send(guide_, step(9, 102), 0);
  note_send(guide_, step(4, 103), 2);
  ASSERT_EQ(log().accesses.size(), 4U);
  const Access& first = log().accesses[0];
  EXPECT_EQ(first.kind, AccessKind::message);
  EXPECT_EQ(first.mode, AccessMode::write);
  EXPECT_EQ(first.rank, 5);
  EXPECT_EQ(first.operation, 100U);
  EXPECT_EQ(first.site.line(), 3U);
  EXPECT_EQ(log().accesses[1].object, first.object);
  EXPECT_NE(log().accesses[2].object, first.object);  // another slot
  EXPECT_NE(log().accesses[3].object, first.object);  // another destination
  EXPECT_EQ(log().marks.back().kind, StepMark::Kind::publish);
  EXPECT_EQ(log().marks.back().value, 103U);
}

TEST_F(GlooStepsTest, OnlyAReceiveFromAnySourceIsKnownAsOne) {
  note_receive(guide_, step(4, 100), AnySource::no);
  EXPECT_TRUE(log().knowledge.any_receives.empty());
  note_receive(guide_, step(4, 100), AnySource::yes);
  GlooStep sent = step(4, 101);
  sent.member = 0;
  note_send(guide_, sent, 1);
  const Access& message = log().accesses.back();
  EXPECT_TRUE(log().knowledge.any_receives.contains({message.object, message.tag}));
  note_taken_by_any(guide_, 5, CallSite::at("here", 8), 101);
  ASSERT_EQ(log().taken.size(), 1U);
  EXPECT_EQ(log().taken[0].message, message.operation);
  EXPECT_EQ(log().taken[0].site.line(), 8U);
}

}  // namespace
}  // namespace gang::sim
