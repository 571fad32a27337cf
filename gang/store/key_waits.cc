#include "gang/store/key_waits.h"

#include <algorithm>
#include <utility>

namespace gang {
namespace {

// Each key is kept twice, in containers.
std::size_t size_bytes_of_key(std::string_view key) { return 2 * key.size() + 200; }

}  // namespace

std::size_t KeyWaits::size_bytes_of(std::span<const std::string> keys) noexcept {
  std::size_t size = 0;
  for (const std::string& key : keys) size += size_bytes_of_key(key);
  return size;
}

void KeyWaits::add(Waiter waiter, std::span<const std::string> missing_keys) {
  std::vector<std::string> keys(missing_keys.begin(), missing_keys.end());
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  for (const std::string& key : keys) waiters_for_[key].push_back(waiter);
  size_bytes_ += size_bytes_of(keys);
  keys_of_.emplace(waiter, std::move(keys));
}

std::vector<KeyWaits::Waiter> KeyWaits::key_exists(std::string_view key) {
  std::vector<Waiter> complete;
  const auto found = waiters_for_.find(key);
  if (found == waiters_for_.end()) return complete;
  size_bytes_ -= found->second.size() * size_bytes_of_key(key);
  for (const Waiter waiter : found->second) {
    std::vector<std::string>& keys = keys_of_.at(waiter);
    keys.erase(std::ranges::lower_bound(keys, key));
    if (!keys.empty()) continue;
    keys_of_.erase(waiter);
    complete.push_back(waiter);
  }
  waiters_for_.erase(found);
  return complete;
}

void KeyWaits::remove(Waiter waiter) {
  const auto found = keys_of_.find(waiter);
  if (found == keys_of_.end()) return;
  size_bytes_ -= size_bytes_of(found->second);
  for (const std::string& key : found->second) {
    const auto waiters = waiters_for_.find(key);
    std::erase(waiters->second, waiter);
    if (waiters->second.empty()) waiters_for_.erase(waiters);
  }
  keys_of_.erase(found);
}

std::vector<std::string> KeyWaits::missing_keys(Waiter waiter) const {
  const auto found = keys_of_.find(waiter);
  return found == keys_of_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace gang
