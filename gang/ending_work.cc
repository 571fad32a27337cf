#include "gang/ending_work.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace gang {

CompletionBoard::CompletionBoard(std::shared_ptr<Runtime> runtime)
    : runtime_(std::move(runtime)),
      mutex_(runtime_->make_mutex()),
      changed_(runtime_->make_condition()) {}

TimePoint deadline_after(const Runtime& runtime, Duration timeout) {
  const TimePoint now = runtime.now();
  return timeout < TimePoint::max() - now ? now + timeout : TimePoint::max();
}

EndingWork::EndingWork(std::shared_ptr<CompletionBoard> board) noexcept
    : board_(std::move(board)) {}

void EndingWork::end(std::exception_ptr error, Received received) {
  const auto lock = board_->lock();
  error_ = std::move(error);
  received_ = received;
  ended_.store(true, std::memory_order_release);
  board_->changed().notify_all();
}

void EndingWork::rethrow() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void EndingWork::await() {
  auto lock = board_->lock();
  while (!has_ended()) board_->changed().wait(lock);
}

bool EndingWork::wait(std::optional<Duration> timeout) {
  if (!timeout) {
    if (!has_ended()) await();
    rethrow();
    return true;
  }
  const TimePoint deadline = deadline_after(board_->runtime(), *timeout);
  if (!has_ended()) go_on_alone();
  auto lock = board_->lock();
  while (!has_ended()) {
    const Duration left = deadline - board_->runtime().now();
    if (left <= Duration::zero()) return false;
    board_->changed().wait_for(lock, left);
  }
  lock.unlock();
  rethrow();
  return true;
}

bool EndingWork::test() {
  if (!has_ended()) go_on_alone();
  // Who polls lets others run: but not before it is told what this look has ended, or time would
  // pass meanwhile in a simulated world.
  if (!has_ended()) board_->runtime().yield();
  if (!has_ended()) return false;
  rethrow();
  return true;
}

namespace {

// The index of the first that has ended; their number where none has.
std::size_t first_ended(std::span<EndingWork* const> works) {
  const auto found =
      std::ranges::find_if(works, [](const auto* work) { return work->has_ended(); });
  return static_cast<std::size_t>(found - works.begin());
}

}  // namespace

std::size_t EndingWork::wait_any(std::span<WorkState* const> works) {
  std::vector<EndingWork*> ours;
  bool share_board = true;
  for (WorkState* work : works) {
    auto* const ending = static_cast<EndingWork*>(work);
    share_board = share_board && ending->board_ == board_;
    if (!ending->has_ended()) ending->go_on_alone();
    ours.push_back(ending);
  }
  auto lock = board_->lock();
  std::size_t index = first_ended(ours);
  while (index == ours.size()) {
    // Works of gangs that share no root notify elsewhere: look again soon.
    if (share_board)
      board_->changed().wait(lock);
    else
      board_->changed().wait_for(lock, std::chrono::microseconds(100));
    index = first_ended(ours);
  }
  return index;
}

void EndingWork::dropped() noexcept {
  if (has_ended()) return;
  if (std::uncaught_exceptions() > 0) abandon();
  try {
    await();
  } catch (...) {
    // A simulated run is over: nobody performs anything any more.
  }
}

}  // namespace gang
