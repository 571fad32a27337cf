// Values as bytes, and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/conductor/messages.h"

namespace gang::harness::conducted {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::vector<T> values_in(const std::vector<std::byte>& bytes) {
  return OperationResult{.error = {}, .data = bytes}.values<T>();
}

inline std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The values that the store has answered.
inline std::vector<std::string> texts_of(const StoredMessage& stored) {
  std::vector<std::string> texts;
  for (const auto& value : stored.values) texts.push_back(text_of(value));
  return texts;
}

// As a connection gives it.
inline Frame without_size(const Frame& frame) {
  return {frame.begin() + sizeof(std::uint32_t), frame.end()};
}

}  // namespace gang::harness::conducted
