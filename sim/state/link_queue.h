// What waits at one member of a gang, by the link that it came or shall come by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gang/recycled.h"

namespace gang::sim {

// A queue, oldest first, that also finds the oldest entry of one source: a gather of N messages
// costs O(N), whatever order they come and are asked for in. The source of a receive may be
// any_rank, which is a source like others here. Short queues are searched; one that has been long
// is indexed by source from then on.
template <typename T>
class LinkQueue {
 public:
  using Place = std::uint64_t;  // of an entry, ascending with its age in the queue

  void push(int source, T value) {
    if (is_indexed()) (*of_source_)[source].push_back(begin_ + entries_.size());
    if (entries_.capacity() == 0) entries_.reserve(mostly_enough);
    entries_.push_back({std::move(value), source});
    ++size_;
    if (!is_indexed() && entries_.size() > most_searched) index();
  }

  bool empty() const noexcept { return size_ == 0; }

  // The oldest entry of `source` that `accepts`, if any.
  template <typename Accepts>
  std::optional<Place> find_from(int source, const Accepts& accepts) const {
    if (empty()) return std::nullopt;
    if (!is_indexed())
      return find_entry(
          [&](const Entry& entry) { return entry.source == source && accepts(entry.value); });
    return find_indexed(source, accepts);
  }

  // The same, of `source` or of `other`.
  template <typename Accepts>
  std::optional<Place> find_from(int source, int other, const Accepts& accepts) const {
    if (empty()) return std::nullopt;
    if (!is_indexed())
      return find_entry([&](const Entry& entry) {
        return (entry.source == source || entry.source == other) && accepts(entry.value);
      });
    const std::optional<Place> a = find_indexed(source, accepts);
    const std::optional<Place> b = find_indexed(other, accepts);
    return a && b ? std::min(*a, *b) : a ? a : b;
  }

  // The same, of any source.
  template <typename Accepts>
  std::optional<Place> find(const Accepts& accepts) const {
    return find_entry([&](const Entry& entry) { return !is_taken(entry) && accepts(entry.value); });
  }

  const T& operator[](Place place) const { return entries_[place - begin_].value; }

  T take(Place place) {
    Entry& entry = entries_[place - begin_];
    T value = std::move(entry.value);
    const int source = std::exchange(entry.source, taken);
    if (is_indexed()) {
      auto& places = of_source_->find(source)->second;
      places.erase(std::ranges::find(places, place));
    }
    if (--size_ == 0) {
      begin_ += entries_.size();
      entries_.clear();
      oldest_ = 0;
      return value;
    }
    while (is_taken(entries_[oldest_])) ++oldest_;
    if (entries_.size() > 16 + 2 * size_) close_gaps();
    return value;
  }

  // From the oldest entry to the youngest.
  class Iterator {
   public:
    const T& operator*() const { return queue_->entries_[index_].value; }
    Iterator& operator++() {
      ++index_;
      skip_gaps();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return index_ == other.index_; }

   private:
    friend class LinkQueue;
    Iterator(const LinkQueue& queue, std::size_t index) : queue_(&queue), index_(index) {
      skip_gaps();
    }
    void skip_gaps() {
      while (index_ < queue_->entries_.size() && is_taken(queue_->entries_[index_])) ++index_;
    }

    const LinkQueue* queue_;
    std::size_t index_;
  };
  Iterator begin() const { return {*this, oldest_}; }
  Iterator end() const { return {*this, entries_.size()}; }

 private:
  using PlacesOfSources = std::unordered_map<int, std::vector<Place>>;  // ascending; may be empty
  struct Entry {
    T value;  // of one that is taken: moved from
    int source;
  };
  static constexpr int taken = std::numeric_limits<int>::max();  // in place of a source

  static bool is_taken(const Entry& entry) noexcept { return entry.source == taken; }

  template <typename Accepts>
  std::optional<Place> find_entry(const Accepts& accepts) const {
    for (std::size_t i = oldest_; i < entries_.size(); ++i)
      if (accepts(entries_[i])) return begin_ + i;
    return std::nullopt;
  }

  template <typename Accepts>
  std::optional<Place> find_indexed(int source, const Accepts& accepts) const {
    const auto places = of_source_->find(source);
    if (places == of_source_->end()) return std::nullopt;
    for (const Place place : places->second)
      if (accepts((*this)[place])) return place;
    return std::nullopt;
  }

  void close_gaps() {
    if (is_indexed())
      for (const Entry& entry : entries_)
        if (!is_taken(entry)) (*of_source_)[entry.source].clear();
    std::erase_if(entries_, is_taken);
    oldest_ = 0;
    if (is_indexed()) index();
  }

  bool is_indexed() const noexcept { return of_source_ != nullptr; }

  void index() {
    if (!is_indexed()) of_source_ = std::make_unique<PlacesOfSources>();
    for (std::size_t i = oldest_; i < entries_.size(); ++i)
      if (!is_taken(entries_[i])) (*of_source_)[entries_[i].source].push_back(begin_ + i);
  }

  static constexpr std::size_t mostly_enough = 4;
  static constexpr std::size_t most_searched = 32;

  RecycledList<Entry> entries_;                 // taken ones included
  Place begin_ = 0;                             // the place of the first one
  std::size_t oldest_ = 0;                      // index of the first that is not taken
  std::size_t size_ = 0;                        // that are not taken
  std::unique_ptr<PlacesOfSources> of_source_;  // null: not indexed
};

}  // namespace gang::sim
