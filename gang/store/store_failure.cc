#include "gang/store/store_failure.h"

#include <algorithm>

#include <fmt/format.h>

namespace gang {
namespace {

// Keys may hold anything and be long; a message is one readable line.
std::string shown(std::string_view key) {
  constexpr std::size_t most = 80;
  std::string text = "'";
  for (const char c : key.substr(0, most)) {
    const auto code = static_cast<unsigned char>(c);
    text += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
  }
  return text + (key.size() > most ? "...'" : "'");
}

std::string list_of(std::span<const std::string> keys) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
    text += (i == 0 ? "" : ", ") + shown(keys[i]);
  return keys.size() > most ? fmt::format("{} and {} more", text, keys.size() - most) : text;
}

}  // namespace

std::string operation_on(const Store& store, std::string_view operation, std::string_view key) {
  if (key.empty()) return fmt::format("{} at {}", operation, store.description());
  return fmt::format("{} of {} at {}", operation, shown(key), store.description());
}

void throw_cancelled(const Store& store, std::string_view operation, std::string_view key) {
  throw StoreError(StoreErrorKind::cancelled,
                   operation_on(store, operation, key) + " was cancelled");
}

void throw_wait_timeout(const Store& store, std::string_view operation,
                        std::span<const std::string> missing_keys, Duration elapsed) {
  throw StoreError(StoreErrorKind::timeout,
                   fmt::format("{} of {} at {} timed out after {}: no client has set {}", operation,
                               list_of(missing_keys), store.description(), to_string(elapsed),
                               missing_keys.size() == 1 ? "it" : "them"));
}

void throw_not_a_number(const Store& store, std::string_view key) {
  throw StoreError(
      StoreErrorKind::not_a_number,
      operation_on(store, "add", key) + " found a value that is not a 64-bit decimal number");
}

}  // namespace gang
