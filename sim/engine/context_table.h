// The contexts of a run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gang/recycled.h"
#include "sim/state/rank_state.h"
#include "sim/state/task.h"

namespace gang::sim {

// One context per rank for its program, and those that ranks have started since. Addresses are
// stable for the whole run.
class ContextTable {
 public:
  explicit ContextTable(std::span<RankState> ranks);

  // Programs of ranks have the ids 0 to world_size - 1.
  std::size_t world_size() const noexcept { return world_size_; }
  std::size_t size() const noexcept { return world_size_ + further_.size(); }

  Task& operator[](TaskId id) {
    return id < world_size_ ? programs_[id] : *further_[id - world_size_];
  }
  Task& program_of(int rank) noexcept { return programs_[static_cast<std::size_t>(rank)]; }

  // The caller of the run, which belongs to no rank: id outside_task.
  Task& outside() noexcept { return outside_; }

  Task& add(RankState& rank, std::string name, std::function<void()> body);

  void for_each(const std::function<void(Task&)>& visit);

  // Contexts that have not ended, frozen ones included, and how many of them are frozen.
  std::size_t left() const noexcept { return left_; }
  std::size_t frozen() const noexcept { return frozen_; }
  bool has_further() const noexcept { return !further_.empty(); }

  void note_end(Task& task) noexcept {
    task.is_done = true;
    --left_;
  }
  void note_frozen(Task& task) noexcept {
    task.is_frozen = true;
    ++frozen_;
  }

  // Contexts that have neither ended nor been frozen, by rank, the rank's program first.
  std::vector<const Task*> live() const;

  // Releases what the bodies of further contexts hold.
  void release_bodies() noexcept;

 private:
  const std::size_t world_size_;
  RecycledList<Task> programs_;  // by rank
  std::vector<std::unique_ptr<Task>> further_;
  Task outside_;
  std::size_t left_;
  std::size_t frozen_ = 0;
};

}  // namespace gang::sim
