#include "gang/store/store_contents.h"

#include <algorithm>
#include <charconv>

namespace gang {
namespace {

std::optional<std::int64_t> number_in(std::span<const std::byte> value) {
  const char* begin = reinterpret_cast<const char*>(value.data());
  const char* end = begin + value.size();
  std::int64_t number = 0;
  const auto [last, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || last != end) return std::nullopt;
  return number;
}

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

StoreContents::Bytes& StoreContents::at(std::string_view key) {
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  size_bytes_ += key.size();
  return values_.emplace(std::string(key), Bytes{}).first->second;
}

void StoreContents::set(std::string_view key, BytesView value) {
  Bytes& stored = at(key);
  size_bytes_ += value.size();
  size_bytes_ -= stored.size();
  stored.assign(value.begin(), value.end());
}

void StoreContents::append(std::string_view key, BytesView value) {
  Bytes& stored = at(key);
  stored.insert(stored.end(), value.begin(), value.end());
  size_bytes_ += value.size();
}

const StoreContents::Bytes* StoreContents::find(std::string_view key) const noexcept {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> StoreContents::missing_of(std::span<const std::string> keys) const {
  std::vector<std::string> missing;
  for (const std::string& key : keys)
    if (!has(key)) missing.push_back(key);
  return missing;
}

std::optional<std::int64_t> StoreContents::add(std::string_view key, std::int64_t delta) {
  std::int64_t sum = delta;
  if (const Bytes* stored = find(key); stored != nullptr) {
    const std::optional<std::int64_t> number = number_in(*stored);
    if (!number) return std::nullopt;
    sum = wrapping_sum(*number, delta);
  }
  const std::string text = std::to_string(sum);
  set(key, std::as_bytes(std::span(text)));
  return sum;
}

StoreContents::Bytes StoreContents::compare_set(std::string_view key, BytesView expected,
                                                BytesView desired) {
  const Bytes* stored = find(key);
  const bool is_expected =
      stored == nullptr ? expected.empty() : std::ranges::equal(*stored, expected);
  if (is_expected) {
    set(key, desired);
    return {desired.begin(), desired.end()};
  }
  return stored == nullptr ? Bytes(expected.begin(), expected.end()) : *stored;
}

bool StoreContents::erase(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  size_bytes_ -= found->first.size() + found->second.size();
  values_.erase(found);
  return true;
}

}  // namespace gang
