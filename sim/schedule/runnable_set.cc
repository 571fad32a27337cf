#include "sim/schedule/runnable_set.h"

#include <algorithm>

namespace gang::sim {

void RunnableSet::reserve(std::size_t count) {
  if (count <= capacity_) return;
  std::size_t words = count;
  for (auto& level : levels_) {
    words = std::max<std::size_t>((words + 63) / 64, 1);
    if (level.size() < words) level.resize(words, 0);
  }
  capacity_ = levels_[0].size() * 64;
}

void RunnableSet::note_first(TaskId word) noexcept {
  for (std::size_t level = 1; level < levels_.size(); ++level, word >>= 6) {
    std::uint64_t& words = levels_[level][word >> 6];
    const bool was_empty = words == 0;
    words |= std::uint64_t{1} << (word & 63);
    if (!was_empty) return;
  }
}

void RunnableSet::note_none(TaskId word) noexcept {
  for (std::size_t level = 1; level < levels_.size(); ++level, word >>= 6) {
    std::uint64_t& words = levels_[level][word >> 6];
    words &= ~(std::uint64_t{1} << (word & 63));
    if (words != 0) return;
  }
}

TaskId RunnableSet::descend(int level, TaskId word) const noexcept {
  for (;; --level) {
    const auto bits = levels_[static_cast<std::size_t>(level)][word];
    word = (word << 6) | static_cast<TaskId>(std::countr_zero(bits));
    if (level == 0) return word;
  }
}

TaskId RunnableSet::last() const noexcept {
  TaskId word = 0;
  for (int level = 3; level >= 0; --level) {
    const auto bits = levels_[static_cast<std::size_t>(level)][word];
    word = (word << 6) | static_cast<TaskId>(63 - std::countl_zero(bits));
  }
  return word;
}

TaskId RunnableSet::next_above(TaskId id) const noexcept {
  for (int level = 0; level < 4; ++level) {
    const auto& words = levels_[static_cast<std::size_t>(level)];
    const TaskId word = id >> 6;
    const unsigned bit = id & 63;
    const std::uint64_t above = bit == 63 ? 0 : words[word] & (~std::uint64_t{0} << (bit + 1));
    if (above != 0) {
      const TaskId child = (word << 6) | static_cast<TaskId>(std::countr_zero(above));
      return level == 0 ? child : descend(level - 1, child);
    }
    id = word;
  }
  return first();
}

TaskId RunnableSet::at(std::size_t index) const noexcept {
  const auto& words = levels_[0];
  for (TaskId word = first() >> 6;; ++word) {
    std::uint64_t bits = words[word];
    const auto members = static_cast<std::size_t>(std::popcount(bits));
    if (index >= members) {
      index -= members;
      continue;
    }
    for (; index > 0; --index) bits &= bits - 1;
    return (word << 6) | static_cast<TaskId>(std::countr_zero(bits));
  }
}

}  // namespace gang::sim
