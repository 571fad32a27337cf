// What a store holds, and what each operation does to it. Knows nothing about clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gang {

// A map from keys to bytes. A value; not synchronised.
class StoreContents {
 public:
  using Bytes = std::vector<std::byte>;
  using BytesView = std::span<const std::byte>;

  void set(std::string_view key, BytesView value);
  void append(std::string_view key, BytesView value);

  // The value, valid until the next change; null if there is none.
  const Bytes* find(std::string_view key) const noexcept;
  bool has(std::string_view key) const noexcept { return find(key) != nullptr; }

  // Those of `keys` that have no value.
  std::vector<std::string> missing_of(std::span<const std::string> keys) const;

  // Stores and returns the sum; none, and changes nothing, if the value is not a decimal number.
  std::optional<std::int64_t> add(std::string_view key, std::int64_t delta);

  // As Store::compare_set.
  Bytes compare_set(std::string_view key, BytesView expected, BytesView desired);

  bool erase(std::string_view key);

  std::int64_t key_count() const noexcept { return static_cast<std::int64_t>(values_.size()); }
  // Of all keys and values.
  std::size_t size_bytes() const noexcept { return size_bytes_; }

  friend bool operator==(const StoreContents&, const StoreContents&) = default;

 private:
  Bytes& at(std::string_view key);

  std::map<std::string, Bytes, std::less<>> values_;
  std::size_t size_bytes_ = 0;
};

}  // namespace gang
