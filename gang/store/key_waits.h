// Who waits for which keys: so that a new key wakes those who wait for it and nobody else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gang {

// A waiter waits until each of its keys has existed at some moment; a key that is deleted again
// counts. Not synchronised.
class KeyWaits {
 public:
  using Waiter = std::uint64_t;  // the owner's numbers

  // `waiter`, which does not wait yet, waits for `missing_keys`, at least one; equal ones count
  // once.
  void add(Waiter waiter, std::span<const std::string> missing_keys);

  // Those for whom it was the last key, in the order in which they came. They wait no longer.
  std::vector<Waiter> key_exists(std::string_view key);

  // Does nothing where it does not wait.
  void remove(Waiter waiter);

  bool is_waiting(Waiter waiter) const noexcept { return keys_of_.contains(waiter); }
  // What it still waits for; empty where it does not wait.
  std::vector<std::string> missing_keys(Waiter waiter) const;
  std::size_t waiter_count() const noexcept { return keys_of_.size(); }

  // What all waiting takes, roughly, and what these keys would add.
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  static std::size_t size_bytes_of(std::span<const std::string> keys) noexcept;

 private:
  std::map<std::string, std::vector<Waiter>, std::less<>> waiters_for_;
  std::map<Waiter, std::vector<std::string>> keys_of_;  // sorted; those still missing
  std::size_t size_bytes_ = 0;
};

}  // namespace gang
