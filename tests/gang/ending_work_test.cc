#include "gang/ending_work.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

std::shared_ptr<CompletionBoard> make_board() {
  return std::make_shared<CompletionBoard>(std::shared_ptr<Runtime>(make_real_runtime()));
}

// Ends `work` after a while, on another thread.
std::unique_ptr<RuntimeThread> end_later(CompletionBoard& board, EndingWork& work,
                                         std::exception_ptr error = nullptr) {
  return board.runtime().start_thread("ends", [&board, &work, error] {
    board.runtime().sleep_for(20ms);
    work.end(error, {3, 4});
  });
}

TEST(DeadlineAfter, IsNeverForNoTimeout) {
  const auto board = make_board();
  EXPECT_EQ(deadline_after(board->runtime(), no_timeout), TimePoint::max());
  const TimePoint deadline = deadline_after(board->runtime(), 1s);
  EXPECT_GT(deadline, board->runtime().now());
  EXPECT_LE(deadline, board->runtime().now() + 1s);
}

TEST(TimeLeft, IsAtLeastAMillisecondAndEndlessWithoutADeadline) {
  const auto runtime = make_real_runtime();
  EXPECT_EQ(time_left(*runtime, TimePoint::max()), no_timeout);
  EXPECT_EQ(time_left(*runtime, runtime->now() - 1s), Duration(1ms));
  EXPECT_GT(time_left(*runtime, runtime->now() + 10s), Duration(9s));
}

TEST(EndingWork, IsWaitedForUntilItEnds) {
  const auto board = make_board();
  const auto state = std::make_shared<EndingWork>(board);
  Work work(state);
  EXPECT_FALSE(work.test());
  EXPECT_FALSE(work.wait(1ms));
  const auto thread = end_later(*board, *state);
  work.wait();
  EXPECT_TRUE(work.test());
  EXPECT_EQ(work.received().source_rank, 3);
  EXPECT_EQ(work.received().tag, 4);
}

TEST(EndingWork, ThrowsItsErrorAtEveryCall) {
  const auto board = make_board();
  const auto state = std::make_shared<EndingWork>(board);
  Work work(state);
  state->end(std::make_exception_ptr(GangError({.reason = "planted"})));
  EXPECT_THROW(work.wait(), GangError);
  EXPECT_THROW(work.wait(1s), GangError);
  EXPECT_THROW(work.test(), GangError);
}

TEST(EndingWork, TheFirstOfSeveralToEndIsReturned) {
  const auto board = make_board();
  const auto first = std::make_shared<EndingWork>(board);
  const auto second = std::make_shared<EndingWork>(board);
  Work works[] = {Work(first), Work(second)};
  const auto thread = end_later(*board, *second);
  EXPECT_EQ(Work::wait_any(works), 1U);
  first->end(nullptr);
}

TEST(EndingWork, OnAnotherBoardIsPolled) {
  const auto board = make_board();
  const auto other_board = make_board();
  const auto first = std::make_shared<EndingWork>(board);
  const auto second = std::make_shared<EndingWork>(other_board);
  Work works[] = {Work(first), Work(second)};
  const auto thread = end_later(*other_board, *second);
  EXPECT_EQ(Work::wait_any(works), 1U);
  first->end(nullptr);
}

TEST(EndingWork, DroppingTheHandleWaits) {
  const auto board = make_board();
  const auto state = std::make_shared<EndingWork>(board);
  const auto thread = end_later(*board, *state);
  Work(std::static_pointer_cast<WorkState>(state));
  EXPECT_TRUE(state->has_ended());
}

TEST(EndingWork, ADetachedOneIsKeptUntilItHasEnded) {
  const auto board = make_board();
  auto state = std::make_shared<EndingWork>(board);
  const std::weak_ptr<EndingWork> kept = state;
  Work work(state);
  work.detach();
  board->forget_ended();
  state.reset();
  ASSERT_FALSE(kept.expired());
  kept.lock()->end(nullptr);
  board->forget_ended();
  EXPECT_TRUE(kept.expired());
}

TEST(EndingWork, AWaitWithATimeoutLastsUntilItEnds) {
  const auto board = make_board();
  const auto state = std::make_shared<EndingWork>(board);
  Work work(state);
  const auto thread = end_later(*board, *state);
  EXPECT_TRUE(work.wait(10s));
}

// Counts how often it is performed, and whether it has been abandoned.
class Performed final : public SelfPerformingWork {
 public:
  explicit Performed(std::shared_ptr<CompletionBoard> own)
      : SelfPerformingWork(std::move(own), {}, "performs") {}
  ~Performed() override { join(); }

  std::atomic<bool> is_held = false;
  std::atomic<int> times = 0;
  std::atomic<bool> is_abandoned = false;

 protected:
  Received perform() override {
    ++times;
    while (is_held) std::this_thread::sleep_for(1ms);
    return {1, 2};
  }
  void abandon() noexcept override { is_abandoned = true; }
};

TEST(EndingWork, IsPerformedOnceHoweverOftenItIsLookedAt) {
  const auto board = make_board();
  const auto state = std::make_shared<Performed>(board);
  Work work(state);
  state->is_held = true;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(work.test());
  EXPECT_FALSE(work.wait(1ms));
  state->is_held = false;
  work.wait();
  EXPECT_EQ(state->times, 1);
}

TEST(EndingWork, WaitingForAnyPerformsThem) {
  const auto board = make_board();
  const auto state = std::make_shared<Performed>(board);
  Work works[] = {Work(std::make_shared<Performed>(board)), Work(state)};
  works[Work::wait_any(works)].wait();
  Work::wait_all(works);
  EXPECT_EQ(state->times, 1);
}

TEST(EndingWork, IsAbandonedWhenAnExceptionLeavesTheProgram) {
  const auto board = make_board();
  const auto state = std::make_shared<Performed>(board);
  try {
    const Work work(std::static_pointer_cast<WorkState>(state));
    throw std::runtime_error("leaves the program");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(state->is_abandoned);
  EXPECT_TRUE(state->has_ended());
  const auto other = std::make_shared<Performed>(board);
  Work(std::static_pointer_cast<WorkState>(other));
  EXPECT_FALSE(other->is_abandoned);
}

TEST(EndingWork, ADetachedOneIsPerformedInTheBackground) {
  const auto board = make_board();
  const auto state = std::make_shared<Performed>(board);
  Work work(state);
  work.detach();
  auto lock = board->lock();
  while (!state->has_ended()) board->changed().wait(lock);
  lock.unlock();
  EXPECT_EQ(state->received().source_rank, 1);
  board->forget_ended();
  EXPECT_EQ(state.use_count(), 1);
}

}  // namespace
}  // namespace gang
