#include "gang/ending_work.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace gang {

CompletionBoard::CompletionBoard(std::shared_ptr<Runtime> runtime)
    : runtime_(std::move(runtime)),
      mutex_(runtime_->make_mutex()),
      changed_(runtime_->make_condition()) {}

void CompletionBoard::keep(std::shared_ptr<EndingWork> detached) {
  forget_ended();
  const auto held = lock();
  detached_.push_back(std::move(detached));
  has_detached_ = true;
}

void CompletionBoard::forget_ended() noexcept {
  if (!has_detached_) return;
  std::vector<std::shared_ptr<EndingWork>> ended;  // gone without the lock: they may join a thread
  try {
    const auto held = lock();
    const auto first = std::ranges::stable_partition(
        detached_, [](const auto& work) { return !work->has_ended(); });
    std::ranges::move(first, std::back_inserter(ended));
    detached_.erase(first.begin(), first.end());
    has_detached_ = !detached_.empty();
  } catch (...) {
    // A simulated run is over.
  }
}

Duration time_left(const Runtime& runtime, TimePoint deadline) {
  if (deadline == TimePoint::max()) return no_timeout;
  return std::max<Duration>(deadline - runtime.now(), std::chrono::milliseconds(1));
}

EndingWork::EndingWork(std::shared_ptr<CompletionBoard> board, const CallSite& call_site)
    : board_(std::move(board)), ended_(board_->runtime().make_flag(call_site)) {}

void EndingWork::end(std::exception_ptr error, Received received) {
  error_ = std::move(error);
  received_ = received;
  // Not under the lock: in simulation, others may go first.
  ended_->set();
  const auto lock = board_->lock();
  board_->changed().notify_all();
}

void EndingWork::rethrow() const {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void EndingWork::await() {
  auto lock = board_->lock();
  while (!has_ended()) board_->changed().wait(lock);
}

bool EndingWork::wait(Duration timeout) {
  if (timeout == no_timeout) {
    if (!has_ended()) await();
    rethrow();
    return true;
  }
  Runtime& runtime = board_->runtime();
  const TimePoint deadline = deadline_after(runtime, timeout);
  if (!has_ended()) {
    runtime.before_look();  // it may end at once
    run_in_background();
  }
  TimePoint now{};
  {
    auto lock = board_->lock();
    while ((now = runtime.now()) < deadline && !has_ended())
      board_->changed().wait_for(lock, deadline - now);
  }
  // In its last instant, the wait may find the end or not.
  if (now >= deadline) {
    runtime.before_look();
    if (!ended_->look()) return false;
  }
  rethrow();
  return true;
}

bool EndingWork::test() {
  const auto looks = [this] {
    board_->runtime().before_look();
    return ended_->look();
  };
  if (!looks() && !(run_in_background() && looks()) && !ended_->look_after_others()) return false;
  rethrow();
  return true;
}

namespace {

// The index of the first work that has ended; their number if none has.
std::size_t first_ended(std::span<EndingWork* const> works) {
  const auto found =
      std::ranges::find_if(works, [](const auto* work) { return work->has_ended(); });
  return static_cast<std::size_t>(found - works.begin());
}

}  // namespace

std::size_t EndingWork::wait_any(std::span<WorkState* const> works) {
  std::vector<EndingWork*> ours;
  bool share_board = true;
  board_->runtime().before_look();
  for (WorkState* work : works) {
    auto* const ending = static_cast<EndingWork*>(work);
    share_board = share_board && ending->board_ == board_;
    if (!ending->has_ended()) ending->run_in_background();
    ours.push_back(ending);
  }
  auto lock = board_->lock();
  std::size_t index = first_ended(ours);
  while (index == ours.size()) {
    // Works of gangs that share no root are notified elsewhere: look again soon.
    if (share_board)
      board_->changed().wait(lock);
    else
      board_->changed().wait_for(lock, std::chrono::microseconds(100));
    index = first_ended(ours);
  }
  // It sees of each work whether that has ended.
  for (EndingWork* work : ours) work->ended_->look();
  return index;
}

void EndingWork::dropped() noexcept {
  if (has_ended()) return;
  if (std::uncaught_exceptions() > 0) abandon();
  try {
    await();
  } catch (...) {
    // A simulated run is over: nothing is performed any more.
  }
}

void EndingWork::detached(std::shared_ptr<WorkState> self) noexcept {
  if (has_ended()) return;
  try {
    run_in_background();
    board_->keep(std::static_pointer_cast<EndingWork>(std::move(self)));
  } catch (...) {
    dropped();  // no thread could be started
  }
}

SelfPerformingWork::SelfPerformingWork(std::shared_ptr<CompletionBoard> board,
                                       const CallSite& call_site, std::string thread_name)
    : EndingWork(std::move(board), call_site), thread_name_(std::move(thread_name)) {}

void SelfPerformingWork::await() {
  if (is_claimed_.exchange(true)) return EndingWork::await();
  finish();
}

bool SelfPerformingWork::run_in_background() {
  if (is_claimed_.exchange(true)) return false;
  thread_ = board().runtime().start_thread(thread_name_, [this] { finish(); });
  return true;
}

void SelfPerformingWork::finish() {
  std::exception_ptr error;
  Received received;
  try {
    received = perform();
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  end(std::move(error), received);
}

}  // namespace gang
