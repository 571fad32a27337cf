// Contexts that poll.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/state/task.h"

namespace gang::sim {

// Which contexts have polled in vain, and whether another try could help.
class Polls {
 public:
  void add(TaskId task) { waiting_.push_back(task); }
  void remove(TaskId task) { std::erase(waiting_, task); }

  // Something has happened that a polling context could see.
  void note_progress() noexcept { ++progress_; }

  // Whether a context polls and something has happened since all of them last tried.
  bool may_succeed() noexcept {
    if (progress_ == tried_at_ || waiting_.empty()) return false;
    tried_at_ = progress_;
    fruitless_rounds_ = 0;
    return true;
  }

  // Whether to try again anyway: programs may change course after some failed polls.
  bool may_retry_in_vain() noexcept {
    return ++fruitless_rounds_ <= most_fruitless_rounds && !waiting_.empty();
  }

  const std::vector<TaskId>& waiting() const noexcept { return waiting_; }
  void clear() noexcept { waiting_.clear(); }

 private:
  static constexpr std::uint64_t most_fruitless_rounds = 10'000;

  std::vector<TaskId> waiting_;
  std::uint64_t progress_ = 0;
  std::uint64_t tried_at_ = 0;  // progress_ then
  std::uint64_t fruitless_rounds_ = 0;
};

}  // namespace gang::sim
