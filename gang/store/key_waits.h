// Which waiters wait for which keys, so that a new key wakes only those that wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gang {

// A waiter waits until each of its keys has existed at some moment; a key that has been deleted
// again counts. Not synchronised.
class KeyWaits {
 public:
  using Waiter = std::uint64_t;  // numbers chosen by the owner

  // Makes `waiter`, which must not be waiting, wait for `missing_keys` (one or more; a set).
  void add(Waiter waiter, std::span<const std::string> missing_keys);

  // The waiters for which it was the last key, in order of arrival. They no longer wait.
  std::vector<Waiter> key_exists(std::string_view key);

  // Does nothing if `waiter` is not waiting.
  void remove(Waiter waiter);

  bool is_waiting(Waiter waiter) const noexcept { return keys_of_.contains(waiter); }
  // What `waiter` still waits for; empty if it is not waiting.
  std::vector<std::string> missing_keys(Waiter waiter) const;
  std::size_t waiter_count() const noexcept { return keys_of_.size(); }

  // Roughly the memory of all waits, and what waiting for these keys would add.
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  static std::size_t size_bytes_of(std::span<const std::string> keys) noexcept;

 private:
  std::map<std::string, std::vector<Waiter>, std::less<>> waiters_for_;
  std::map<Waiter, std::vector<std::string>> keys_of_;  // sorted; those still missing
  std::size_t size_bytes_ = 0;
};

}  // namespace gang
