// What waits at one member of a gang, by the link that it came or shall come by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gang::sim {

// A queue, oldest first, that also finds the oldest entry of one source: a gather of N messages
// costs O(N), whatever order they come and are asked for in. The source of a receive may be
// any_rank, which is a source like others here.
template <typename T>
class LinkQueue {
 public:
  using Place = std::uint64_t;  // of an entry, ascending with its age in the queue

  void push(int source, T value) {
    of_source_[source].push_back(begin_ + entries_.size());
    entries_.push_back({source, std::move(value)});
    ++size_;
  }

  bool empty() const noexcept { return size_ == 0; }

  // The oldest entry of `source` that `accepts`, if any.
  template <typename Accepts>
  std::optional<Place> find_from(int source, const Accepts& accepts) const {
    if (empty()) return std::nullopt;
    const auto places = of_source_.find(source);
    if (places == of_source_.end()) return std::nullopt;
    for (const Place place : places->second)
      if (accepts((*this)[place])) return place;
    return std::nullopt;
  }

  // The same, of any source.
  template <typename Accepts>
  std::optional<Place> find(const Accepts& accepts) const {
    for (std::size_t i = oldest_; i < entries_.size(); ++i)
      if (entries_[i].value && accepts(*entries_[i].value)) return begin_ + i;
    return std::nullopt;
  }

  const T& operator[](Place place) const { return *entries_[place - begin_].value; }

  T take(Place place) {
    Entry& entry = entries_[place - begin_];
    T value = *std::exchange(entry.value, std::nullopt);
    auto& places = of_source_.find(entry.source)->second;
    places.erase(std::ranges::find(places, place));
    --size_;
    while (oldest_ < entries_.size() && !entries_[oldest_].value) ++oldest_;
    if (size_ == 0) {
      begin_ += entries_.size();
      entries_.clear();
      oldest_ = 0;
    } else if (entries_.size() > 16 + 2 * size_) {
      close_gaps();
    }
    return value;
  }

  // From the oldest entry to the youngest.
  class Iterator {
   public:
    const T& operator*() const { return *queue_->entries_[index_].value; }
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
      while (index_ < queue_->entries_.size() && !queue_->entries_[index_].value) ++index_;
    }

    const LinkQueue* queue_;
    std::size_t index_;
  };
  Iterator begin() const { return {*this, oldest_}; }
  Iterator end() const { return {*this, entries_.size()}; }

 private:
  struct Entry {
    int source;
    std::optional<T> value;  // none: has been taken
  };

  void close_gaps() {
    for (const Entry& entry : entries_) of_source_[entry.source].clear();
    std::vector<Entry> kept;
    for (Entry& entry : entries_) {
      if (!entry.value) continue;
      of_source_[entry.source].push_back(begin_ + kept.size());
      kept.push_back(std::move(entry));
    }
    entries_ = std::move(kept);
    oldest_ = 0;
  }

  std::vector<Entry> entries_;                             // taken ones included
  Place begin_ = 0;                                        // the place of the first one
  std::size_t oldest_ = 0;                                 // index of the first that is not taken
  std::size_t size_ = 0;                                   // that are not taken
  std::unordered_map<int, std::vector<Place>> of_source_;  // ascending; kept when empty
};

}  // namespace gang::sim
