#include "sim/schedule/runnable_set.h"

#include <algorithm>

#include "sim/schedule/select_bit.h"

namespace gang::sim {

void RunnableSet::reserve(std::size_t count) {
  if (count <= capacity_) return;
  std::size_t words = (count + 63) / 64;
  for (std::size_t level = 0; level < levels_.size(); ++level, words = (words + 63) / 64) {
    levels_[level].resize(words, 0);
    if (level >= depth_) {
      depth_ = level + 1;
      if (level > 0) summarize(level);
    }
    if (words == 1) break;
  }
  capacity_ = levels_[0].size() * 64;
}

void RunnableSet::summarize(std::size_t level) noexcept {
  const auto& below = levels_[level - 1];
  for (std::size_t word = 0; word < below.size(); ++word)
    if (below[word] != 0) levels_[level][word >> 6] |= std::uint64_t{1} << (word & 63);
}

void RunnableSet::note_first(TaskId word) noexcept {
  for (std::size_t level = 1; level < depth_; ++level, word >>= 6) {
    std::uint64_t& words = levels_[level][word >> 6];
    const bool was_empty = words == 0;
    words |= std::uint64_t{1} << (word & 63);
    if (!was_empty) return;
  }
}

void RunnableSet::note_none(TaskId word) noexcept {
  for (std::size_t level = 1; level < depth_; ++level, word >>= 6) {
    std::uint64_t& words = levels_[level][word >> 6];
    words &= ~(std::uint64_t{1} << (word & 63));
    if (words != 0) return;
  }
}

TaskId RunnableSet::descend(std::size_t level, TaskId word) const noexcept {
  for (;; --level) {
    const auto bits = levels_[level][word];
    word = (word << 6) | static_cast<TaskId>(std::countr_zero(bits));
    if (level == 0) return word;
  }
}

TaskId RunnableSet::last() const noexcept {
  TaskId word = 0;
  for (std::size_t level = depth_; level-- > 0;) {
    const auto bits = levels_[level][word];
    word = (word << 6) | static_cast<TaskId>(63 - std::countl_zero(bits));
  }
  return word;
}

TaskId RunnableSet::next_above(TaskId id) const noexcept {
  for (std::size_t level = 1; level < depth_; ++level) {
    id >>= 6;
    const TaskId word = id >> 6;
    const std::uint64_t above = levels_[level][word] >> (id & 63) >> 1;
    if (above != 0)
      return descend(level - 1, id + 1 + static_cast<TaskId>(std::countr_zero(above)));
  }
  return first();
}

TaskId RunnableSet::at(std::size_t index) const noexcept {
  const auto& words = levels_[0];
  TaskId word = 0;
  if (depth_ > 1) {  // else all are in one word, and need not be counted
    word = first() >> 6;
    for (;; ++word) {
      const auto members = static_cast<std::size_t>(std::popcount(words[word]));
      if (index < members) break;
      index -= members;
    }
  }
  return (word << 6) | static_cast<TaskId>(select_bit(words[word], index));
}

}  // namespace gang::sim
