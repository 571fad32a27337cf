// Sets of contexts, a bit for each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "sim/schedule/schedule.h"

namespace gang::sim {

// A view of such a set, whose members ascend: bit i of word w is the context 64 * w + i. The words
// are borrowed.
class ContextBits {
 public:
  class Iterator {
   public:
    using value_type = TaskId;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const std::uint64_t* word, const std::uint64_t* end) noexcept
        : word_(word), end_(end) {
      if (word_ != end_) left_ = *word_;
      find();
    }

    TaskId operator*() const noexcept {
      return first_ + static_cast<TaskId>(std::countr_zero(left_));
    }
    Iterator& operator++() noexcept {
      left_ &= left_ - 1;
      find();
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const noexcept {
      return word_ == other.word_ && left_ == other.left_;
    }

   private:
    void find() noexcept {
      while (left_ == 0 && word_ != end_) {
        first_ += 64;
        if (++word_ != end_) left_ = *word_;
      }
    }

    const std::uint64_t* word_ = nullptr;
    const std::uint64_t* end_ = nullptr;
    std::uint64_t left_ = 0;  // of the word: this member, and greater ones
    TaskId first_ = 0;        // of the word
  };

  explicit ContextBits(std::span<const std::uint64_t> words) noexcept : words_(words) {}

  Iterator begin() const noexcept { return {words_.data(), words_.data() + words_.size()}; }
  Iterator end() const noexcept {
    return {words_.data() + words_.size(), words_.data() + words_.size()};
  }

  // Calls `f` with each member: faster than iterators.
  template <typename F>
  [[gnu::always_inline]] void for_each(const F& f) const {
    TaskId first = 0;  // of the word
    for (std::uint64_t left : words_) {
      for (; left != 0; left &= left - 1) f(first + static_cast<TaskId>(std::countr_zero(left)));
      first += 64;
    }
  }

  bool contains(TaskId id) const noexcept {
    return id / 64 < words_.size() && ((words_[id / 64] >> (id % 64)) & 1) != 0;
  }

  // The context that goes on where nobody says which: `current`, or else the next greater one, or
  // else the first. no_task: the set is empty.
  [[gnu::always_inline]] TaskId next_in_order(TaskId current) const noexcept {
    if (contains(current)) return current;
    const std::size_t word_of_current = current / 64;
    for (std::size_t word = word_of_current; word < words_.size(); ++word) {
      const std::uint64_t above =
          word == word_of_current ? words_[word] >> (current % 64) << (current % 64) : words_[word];
      if (above != 0)
        return static_cast<TaskId>(64 * word) + static_cast<TaskId>(std::countr_zero(above));
    }
    const Iterator first = begin();
    return first == end() ? no_task : *first;
  }

  std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::span<const std::uint64_t> words_;
};

}  // namespace gang::sim
