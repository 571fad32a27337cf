// Contexts that poll.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "gang/duration.h"
#include "sim/state/task.h"

namespace gang::sim {

// Which contexts have polled in vain, and whether another try could help. Programs may stop polling
// after some failed tries or at some time, so polls that can see nothing new are tried again, too:
// many times, and in passing time if they look at the clock. The later a round, the more time it
// takes, so that any time that a program waits for comes in a few thousand rounds.
class Polls {
 public:
  void add(TaskId task, bool has_asked_time) {
    waiting_.push_back(task);
    watch_clock_ |= has_asked_time;
  }
  void remove(Task& task) {
    std::erase(waiting_, task.id);
    task.is_polling = false;
  }

  // Something has happened that a polling context could see.
  void note_progress() noexcept { ++progress_; }

  // Whether a context polls and something has happened since all of them last tried.
  bool may_succeed() noexcept {
    if (progress_ == tried_at_ || waiting_.empty()) return false;
    tried_at_ = progress_;
    rounds_in_vain_ = 0;
    time_in_vain_ = Duration::zero();
    return true;
  }

  // The contexts poll for processes outside the simulation.
  void note_processes() noexcept { are_of_processes_ = true; }

  // Whether to try again anyway: counts a round of polls in vain.
  bool may_retry_in_vain() noexcept {
    if (waiting_.empty()) return false;
    struct Limits {
      std::uint64_t polls, least_rounds, most_rounds;
    };
    // A poll of a process costs two messages, and a verdict must not take long.
    const Limits most =
        are_of_processes_ ? Limits{16'000, 1'000, 4'000} : Limits{4'000'000, 10'000, 50'000};
    return ++rounds_in_vain_ <=
           std::clamp(most.polls / waiting_.size(), most.least_rounds, most.most_rounds);
  }

  // Whether a waiting context has asked for the time since its last poll. Of this round only.
  bool watch_clock() noexcept { return std::exchange(watch_clock_, false); }

  // How much time this round takes.
  Duration time_of_round() noexcept {
    constexpr Duration least = std::chrono::microseconds(1);
    constexpr Duration most = Duration::max() / 200;
    const Duration time = std::clamp(time_in_vain_ / 100, least, most);
    time_in_vain_ = std::min(time_in_vain_ + time, Duration::max() / 2);
    return time;
  }

  std::vector<TaskId>& waiting() noexcept { return waiting_; }

 private:
  std::vector<TaskId> waiting_;
  bool watch_clock_ = false;
  bool are_of_processes_ = false;
  std::uint64_t progress_ = 0;
  std::uint64_t tried_at_ = 0;  // progress_ then
  std::uint64_t rounds_in_vain_ = 0;
  Duration time_in_vain_{0};
};

}  // namespace gang::sim
