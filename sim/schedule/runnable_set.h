// The contexts that could run now.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/container/small_vector.hpp>

#include "sim/schedule/context_bits.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

// An ordered set of context ids. Insertion, removal and the cyclic successor cost a few nanoseconds
// at any size: a bitmap with up to three levels of summaries, each word covering 64 of the level
// below; as many levels as it takes for the highest one to be a single word.
class RunnableSet {
 public:
  RunnableSet() { reserve(64); }

  // Makes room for ids below `count`; keeps the contents.
  void reserve(std::size_t count);

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  bool contains(TaskId id) const noexcept {
    return id < capacity_ && ((levels_[0][id >> 6] >> (id & 63)) & 1) != 0;
  }

  // `id` below the reserved count and not in the set.
  void insert(TaskId id) noexcept {
    ++size_;
    std::uint64_t& place = levels_[0][id >> 6];
    const std::uint64_t word = place;
    place = word | std::uint64_t{1} << (id & 63);
    if (word == 0) note_first(id >> 6);
  }

  // `id` in the set.
  [[gnu::always_inline]] void remove(TaskId id) noexcept {
    --size_;
    std::uint64_t& word = levels_[0][id >> 6];
    word &= ~(std::uint64_t{1} << (id & 63));
    if (word == 0) note_none(id >> 6);
  }

  // The smallest member greater than `id`, or else the smallest member. Requires a member.
  [[gnu::always_inline]] TaskId next_after(TaskId id) const noexcept {
    const unsigned bit = id & 63;
    const std::uint64_t above = levels_[0][id >> 6] >> bit >> 1;
    if (above != 0) return id + 1 + static_cast<TaskId>(std::countr_zero(above));
    return next_above(id);
  }

  // A hint: the second member greater than `id`, if it is among the same 64 ids or the first of
  // later ones; otherwise some member, or no_task.
  [[gnu::always_inline]] TaskId second_after(TaskId id) const noexcept {
    const std::uint64_t above = levels_[0][id >> 6] >> (id & 63) >> 1;
    const std::uint64_t from_second = above & (above - 1);
    if (from_second == 0) [[unlikely]]
      return empty() ? no_task : next_above(id);
    return id + 1 + static_cast<TaskId>(std::countr_zero(from_second));
  }

  // Removes next_after(id), and returns it.
  [[gnu::always_inline]] TaskId take_next_after(TaskId id) noexcept {
    std::uint64_t& place = levels_[0][id >> 6];
    std::uint64_t word = place;
    const std::uint64_t above = word >> (id & 63) >> 1;
    if (above == 0) [[unlikely]] {
      const TaskId next = next_above(id);
      remove(next);
      return next;
    }
    --size_;
    const TaskId next = id + 1 + static_cast<TaskId>(std::countr_zero(above));
    word &= std::rotl(~std::uint64_t{1}, static_cast<int>(next & 63));
    place = word;
    if (word == 0) note_none(id >> 6);
    return next;
  }

  // The smallest member. Requires one.
  TaskId first() const noexcept { return descend(depth_ - 1, 0); }

  // The greatest member. Requires one.
  TaskId last() const noexcept;

  // All members.
  ContextBits bits() const noexcept {
    return ContextBits(std::span(levels_[0].data(), levels_[0].size()));
  }

  // The index-th member in ascending order. Requires index < size(). O(members / 64) at worst.
  TaskId at(std::size_t index) const noexcept;

 private:
  // A word of the lowest level has got its first member, or lost its last one.
  void note_first(TaskId word) noexcept;
  void note_none(TaskId word) noexcept;
  TaskId descend(std::size_t level, TaskId word) const noexcept;
  // The same as next_after, where the word of `id` has no greater member.
  TaskId next_above(TaskId id) const noexcept;
  // Fills a level that was not in use from the one below.
  void summarize(std::size_t level) noexcept;

  std::array<boost::container::small_vector<std::uint64_t, 1>, 4> levels_;
  std::size_t depth_ = 0;  // levels in use
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gang::sim
