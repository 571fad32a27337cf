#include "gang/work.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using test::complete_work;
using test::failing_work;
using test::message_of;
using test::pending_work;
using test::ScriptedWork;

std::vector<Work> works_of(const std::vector<std::shared_ptr<ScriptedWork>>& states) {
  std::vector<Work> works;
  for (const auto& state : states) works.emplace_back(state);
  return works;
}

TEST(Work, ADefaultWorkIsComplete) {
  Work work;
  work.wait();
  EXPECT_TRUE(work.wait(1ms));
  EXPECT_TRUE(work.test());
  EXPECT_EQ(work.received().source_rank, no_rank);
}

TEST(Work, WaitBlocksUntilComplete) {
  const auto state = pending_work();
  Work work(state);
  EXPECT_FALSE(work.test());
  work.wait();
  EXPECT_TRUE(work.test());
  EXPECT_EQ(state->last_timeout, no_timeout);
}

TEST(Work, ATimedWaitThatPassesLetsTheOperationContinue) {
  const auto state = pending_work();
  Work work(state);
  EXPECT_FALSE(work.wait(5ms));
  EXPECT_EQ(state->last_timeout, Duration(5ms));
  state->complete = true;
  EXPECT_TRUE(work.wait(5ms));
}

TEST(Work, ATimedWaitWithNoTimeoutWaitsForever) {
  const auto state = pending_work();
  Work work(state);
  EXPECT_TRUE(work.wait(no_timeout));
  EXPECT_EQ(state->last_timeout, no_timeout);
}

TEST(Work, TimeoutsMustBePositive) {
  Work work;
  EXPECT_THROW(work.wait(0ms), InvalidArgument);
  EXPECT_THROW(work.wait(-1ms), InvalidArgument);
}

TEST(Work, AFailureIsThrownEveryTime) {
  Work work(failing_work("broken"));
  EXPECT_THROW(work.wait(), GangError);
  EXPECT_THROW(work.wait(), GangError);
  EXPECT_THROW(work.test(), GangError);
  EXPECT_THROW(work.wait(1ms), GangError);
}

TEST(Work, ReceivedReturnsTheSourceOnceComplete) {
  const auto state = pending_work();
  state->got = {.source_rank = 3, .tag = 7};
  Work work(state);
  EXPECT_THROW(work.received(), InvalidOperation);
  work.wait();
  EXPECT_EQ(work.received().source_rank, 3);
  EXPECT_EQ(work.received().tag, 7);
}

TEST(Work, DroppingUnfinishedWorkNotifiesTheBackendOnce) {
  const auto state = pending_work();
  {
    const Work work(state);
  }
  EXPECT_EQ(state->drops, 1);
}

TEST(Work, DroppingWorkNotSeenToCompleteNotifiesTheBackend) {
  const auto state = complete_work();
  {
    const Work work(state);
  }
  EXPECT_EQ(state->drops, 1);
}

TEST(Work, DroppingFinishedOrFailedWorkDoesNothing) {
  const auto complete = complete_work();
  const auto failing = failing_work("broken");
  {
    Work first(complete);
    EXPECT_TRUE(first.test());
    Work second(failing);
    EXPECT_THROW(second.wait(), GangError);
  }
  EXPECT_EQ(complete->drops, 0);
  EXPECT_EQ(failing->drops, 0);
}

// Whether its former operation had been waited for says nothing about the new one.
TEST(Work, AVariableThatIsAssignedAgainHasNotBeenWaitedFor) {
  const auto waited = complete_work();
  const auto dropped = complete_work();
  {
    Work work(waited);
    work.wait();
    work = Work(dropped);
    EXPECT_THROW(work.received(), InvalidOperation);
  }
  EXPECT_EQ(waited->drops, 0);
  EXPECT_EQ(dropped->drops, 1);
}

TEST(Work, ATimedWaitThatPassedDidNotSeeTheEnd) {
  const auto state = pending_work();
  {
    Work work(state);
    EXPECT_FALSE(work.wait(1ms));
  }
  EXPECT_EQ(state->drops, 1);
}

TEST(Work, MovingHandsOverTheOperation) {
  const auto state = pending_work();
  {
    Work first(state);
    Work second(std::move(first));
    first.wait();  // NOLINT: a moved-from Work is complete
    EXPECT_FALSE(state->complete);
    Work third;
    third = std::move(second);
    EXPECT_EQ(state->drops, 0);
    third.wait();
  }
  EXPECT_EQ(state->drops, 0);
}

TEST(Work, AssigningDropsTheFormerWork) {
  const auto state = pending_work();
  Work work(state);
  work = Work(complete_work());
  EXPECT_EQ(state->drops, 1);
  EXPECT_TRUE(work.test());
}

// What a rank's context throws to unwind its stack says nothing about the operation.
struct Unwinding {};
class UnwindingWork final : public ScriptedWork {
 public:
  bool wait(Duration) override { throw Unwinding(); }
};

TEST(Work, ForeignExceptionsPassThroughUnseen) {
  const auto unwinding = std::make_shared<UnwindingWork>();
  const auto later = pending_work();
  {
    std::vector<Work> works = works_of({unwinding, later});
    EXPECT_THROW(Work::wait_all(works), Unwinding);
    EXPECT_EQ(later->waits, 0);
  }
  EXPECT_EQ(unwinding->drops, 1);
}

TEST(WorkWaitAll, WaitsForAllBeforeThrowingTheFirstErrorInListOrder) {
  const auto last = pending_work();
  std::vector<Work> works =
      works_of({complete_work(), failing_work("first"), failing_work("second"), last});
  const std::string message = message_of<GangError>([&works] { Work::wait_all(works); });
  EXPECT_NE(message.find("first"), std::string::npos) << message;
  EXPECT_TRUE(last->complete);
}

TEST(WorkWaitAll, AnEmptyListIsComplete) { Work::wait_all({}); }

TEST(WorkWaitAny, ReturnsTheFirstThatIsComplete) {
  std::vector<Work> works = works_of({pending_work(), complete_work(), complete_work()});
  EXPECT_EQ(Work::wait_any(works), 1u);
  EXPECT_TRUE(works[1].test());
}

TEST(WorkWaitAny, BlocksUntilOneIs) {
  std::vector<Work> works = works_of({pending_work(), pending_work()});
  EXPECT_EQ(Work::wait_any(works), 1u);
}

TEST(WorkWaitAny, WhatItReturnedHasBeenSeenToEnd) {
  const auto state = complete_work();
  {
    std::vector<Work> works = works_of({state});
    EXPECT_EQ(Work::wait_any(works), 0u);
    EXPECT_EQ(works[0].received().source_rank, no_rank);
  }
  EXPECT_EQ(state->drops, 0);
}

TEST(WorkWaitAny, AHandleThatWasCompleteFromTheStartCounts) {
  std::vector<Work> works = works_of({pending_work(), pending_work()});
  works.emplace_back();
  EXPECT_EQ(Work::wait_any(works), 2u);
}

TEST(WorkWaitAny, TheLowestComesFirstEvenBeforeOneKnownToBeComplete) {
  std::vector<Work> works = works_of({pending_work(), complete_work()});
  works.emplace_back();
  EXPECT_EQ(Work::wait_any(works), 1u);
  std::vector<Work> failing = works_of({failing_work("broken")});
  failing.emplace_back();
  EXPECT_EQ(Work::wait_any(failing), 1u) << "the first has not failed yet";
}

TEST(WorkWaitAny, AFailedWorkIsReturnedAndThrowsOnWait) {
  const auto failed = failing_work("broken");
  failed->complete = true;
  std::vector<Work> works = works_of({failed});
  works.emplace_back();
  EXPECT_EQ(Work::wait_any(works), 0u);
  EXPECT_THROW(works[0].wait(), GangError);
}

TEST(WorkWaitAny, AnEmptyListIsRefused) { EXPECT_THROW(Work::wait_any({}), InvalidArgument); }

TEST(Work, DetachingItNeitherWaitsNorDrops) {
  class Kept final : public ScriptedWork {
   public:
    std::shared_ptr<WorkState> self;
    void detached(std::shared_ptr<WorkState> own) noexcept override { self = std::move(own); }
  };
  const auto state = std::make_shared<Kept>();
  Work work(state);
  work.detach();
  EXPECT_EQ(state->self, state);
  EXPECT_TRUE(work.test()) << "as if complete";
  work.detach();
  EXPECT_EQ(state->drops, 0);
  EXPECT_EQ(state->waits, 0);
  state->self.reset();
}

TEST(Work, DetachingOneThatHasBeenSeenToEndDoesNothing) {
  const auto state = pending_work();
  Work work(state);
  work.wait();
  work.detach();
  EXPECT_EQ(state->drops, 0);
}

TEST(Work, ABackendThatKeepsNoneDropsWhatIsDetached) {
  const auto state = pending_work();
  Work work(state);
  work.detach();
  EXPECT_EQ(state->drops, 1);
}

TEST(Work, ACompleteOneHasWhatWasReceived) {
  Work work(Received{3, 4});
  Work moved;
  moved = std::move(work);
  EXPECT_TRUE(moved.test());
  EXPECT_EQ(moved.received().source_rank, 3);
  EXPECT_EQ(moved.received().tag, 4);
}

}  // namespace
}  // namespace gang
