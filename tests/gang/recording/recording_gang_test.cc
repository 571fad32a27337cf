#include "gang/recording/recording_gang.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

// Counts the gangs that broke.
class CountingRing final : public CallRing {
 public:
  CountingRing() : CallRing({.capacity = 8}) {}

  std::vector<DumpedState> states() const {
    CallTable calls;
    std::vector<DumpedState> states;
    for (const DumpedCall& call : dump(calls, ProgramEnd::none).calls) states.push_back(call.state);
    return states;
  }
  int broken = 0;

 protected:
  void gang_broke() noexcept override { ++broken; }
};

// Fails every call.
class BrokenGang final : public ForwardingGang {
 public:
  using ForwardingGang::ForwardingGang;

 protected:
  void before(const Operation& operation) override {
    throw GangError({.kind = GangErrorKind::connection, .operation = operation.collective});
  }
};

constexpr DumpedState started = DumpedState::started;
constexpr DumpedState completed = DumpedState::completed;

TEST(RecordingGang, ACallIsCompleteOnceTheProgramHasSeenIt) {
  const auto ring = std::make_shared<CountingRing>();
  const auto gang = std::make_shared<RecordingGang>(make_fake_gang({.size = 2}), ring);
  gang->barrier();
  Work work = gang->start_barrier();
  EXPECT_EQ(ring->states(), (std::vector{completed, started}));
  work.wait();
  EXPECT_EQ(ring->states(), (std::vector{completed, completed}));
  EXPECT_EQ(ring->broken, 0);
}

TEST(RecordingGang, AGangBreaksOnce) {
  const auto ring = std::make_shared<CountingRing>();
  const auto broken = std::make_shared<BrokenGang>(make_fake_gang({.size = 2}));
  const auto gang = std::make_shared<RecordingGang>(broken, ring);
  EXPECT_THROW(gang->barrier(), GangError);
  EXPECT_THROW(gang->start_barrier(), GangError);
  EXPECT_EQ(ring->broken, 1);
  EXPECT_EQ(ring->states(), (std::vector{started, started}));
}

// A recording gang whose calls a test ends.
class RecordedWorks : public testing::Test {
 protected:
  // A started call that ends with `state`.
  Work start(const std::shared_ptr<test::ScriptedWork>& state) {
    inner->work = state;
    return gang->start_barrier();
  }

  // Whether the rank waits for that call.
  bool is_awaited(std::size_t call) const {
    CallTable calls;
    return ring->dump(calls, ProgramEnd::none).calls.at(call).waited.has_value();
  }

  std::shared_ptr<CountingRing> ring = std::make_shared<CountingRing>();
  std::shared_ptr<test::CapturingGang> inner = std::make_shared<test::CapturingGang>(2);
  std::shared_ptr<Gang> gang = std::make_shared<RecordingGang>(inner, ring);
};

TEST_F(RecordedWorks, AWaitThatTimesOutIsOver) {
  const auto state = test::pending_work();
  Work work = start(state);
  EXPECT_FALSE(work.wait(std::chrono::milliseconds(5)));
  EXPECT_EQ(state->last_timeout, Duration(std::chrono::milliseconds(5)));
  EXPECT_FALSE(is_awaited(0));
  EXPECT_EQ(ring->states(), std::vector{started});
  work.wait();
  EXPECT_TRUE(is_awaited(0));
  EXPECT_EQ(ring->states(), std::vector{completed});
}

TEST_F(RecordedWorks, ATestThatSeesTheEndCompletesTheCall) {
  const auto state = test::pending_work();
  state->got = {1, 7};
  Work work = start(state);
  EXPECT_FALSE(work.test());
  EXPECT_FALSE(is_awaited(0));
  state->complete = true;
  EXPECT_TRUE(work.test());
  EXPECT_TRUE(is_awaited(0));
  EXPECT_EQ(ring->states(), std::vector{completed});
  EXPECT_EQ(work.received().source_rank, 1);
  EXPECT_EQ(work.received().tag, 7);
}

TEST_F(RecordedWorks, WaitingForAnyIsOverForTheOthers) {
  Work works[] = {start(test::pending_work()), start(test::complete_work())};
  EXPECT_EQ(Work::wait_any(works), 1U);
  EXPECT_FALSE(is_awaited(0));
  EXPECT_TRUE(is_awaited(1));
}

TEST_F(RecordedWorks, WaitingForAnyThatFailsLeavesTheWorksAsTheyWere) {
  struct FailingToWait final : test::ScriptedWork {
    std::size_t wait_any(std::span<WorkState* const>) override {
      throw GangError({.kind = GangErrorKind::aborted});
    }
  };
  const auto state = std::make_shared<FailingToWait>();
  Work works[] = {start(state)};
  EXPECT_THROW(Work::wait_any(works), GangError);
  EXPECT_EQ(ring->broken, 1);
  EXPECT_EQ(state->drops, 0);
  works[0].wait();
  EXPECT_EQ(state->waits, 1);
}

TEST_F(RecordedWorks, ADetachedWorkIsNotDropped) {
  struct Detachable final : test::ScriptedWork {
    void detached(std::shared_ptr<WorkState>) noexcept override { ++detaches; }
    int detaches = 0;
  };
  const auto state = std::make_shared<Detachable>();
  start(state).detach();
  EXPECT_EQ(state->detaches, 1);
  EXPECT_EQ(state->drops, 0);
}

TEST_F(RecordedWorks, TheCallsOfChildrenAreRecordedToo) {
  const auto child = std::make_shared<test::CapturingGang>(2);
  inner->reaction = [&child](Operation& operation) { *operation.extras->created = child; };
  gang->create_gang(std::vector{0, 1})->barrier();
  EXPECT_EQ(ring->states(), (std::vector{completed, completed}));
}

}  // namespace
}  // namespace gang
