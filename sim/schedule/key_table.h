// Numbers for keys.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/step_log.h"

namespace gang::sim {

// Numbers keys from 0 in the order in which they come. Takes no memory for further runs once it has
// grown. Keys are hashes, of which the low bits differ.
class KeyTable {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  KeyTable() : entries_(64) {}

  std::uint32_t size() const noexcept { return size_; }

  void clear() noexcept {
    size_ = 0;
    ++epoch_;
  }

  // The number of the key: size() before, if it is new.
  std::uint32_t number_of(StepKey key) {
    Entry& entry = entries_[place_of(key)];
    if (entry.epoch == epoch_) return entry.number;
    entry = {key, size_, epoch_};
    if (2 * ++size_ > mask_) grow();
    return size_ - 1;
  }

  std::uint32_t find(StepKey key) const noexcept {
    const Entry& entry = entries_[place_of(key)];
    return entry.epoch == epoch_ ? entry.number : none;
  }

 private:
  struct Entry {
    StepKey key = 0;
    std::uint32_t number = 0;
    std::uint32_t epoch = 0;  // of another one: free
  };

  std::size_t place_of(StepKey key) const noexcept {
    std::size_t place = key & mask_;
    while (entries_[place].epoch == epoch_ && entries_[place].key != key)
      place = (place + 1) & mask_;
    return place;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const Entry& entry : old)
      if (entry.epoch == epoch_) entries_[place_of(entry.key)] = entry;
  }

  std::vector<Entry> entries_;  // a power of two, more than half of them free
  std::size_t mask_ = entries_.size() - 1;
  std::uint32_t size_ = 0;
  std::uint32_t epoch_ = 1;
};

}  // namespace gang::sim
