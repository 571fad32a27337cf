#include "gang/store/store.h"

#include <array>

#include <fmt/format.h>

#include "gang/enum_names.h"

namespace gang {
namespace {

void check_key(std::string_view key, std::string_view operation) {
  if (key.empty())
    throw InvalidArgument(fmt::format("{}: the key is empty; must have 1 to {} bytes", operation,
                                      max_store_key_bytes));
  if (key.size() > max_store_key_bytes)
    throw InvalidArgument(fmt::format("{}: the key '{}...' has {} bytes; must have 1 to {}",
                                      operation, key.substr(0, 40), key.size(),
                                      max_store_key_bytes));
}

void check_keys(std::span<const std::string> keys, std::string_view operation) {
  if (keys.size() > max_store_keys_per_call)
    throw InvalidArgument(fmt::format("{}: {} keys in one call; must be at most {}", operation,
                                      keys.size(), max_store_keys_per_call));
  for (const std::string& key : keys) check_key(key, operation);
}

void check_value(std::string_view key, std::span<const std::byte> value,
                 std::string_view operation) {
  if (value.size() > max_store_value_bytes)
    throw InvalidArgument(fmt::format("{}: the value for '{}' has {} bytes; must have at most {}",
                                      operation, key, value.size(), max_store_value_bytes));
}

constexpr auto store_error_names = names_in_order<StoreErrorKind>(
    "timeout", "cancelled", "connection", "address_in_use", "dialect", "not_a_number", "corrupt");

}  // namespace

std::string_view to_string(StoreErrorKind kind) noexcept {
  return name_of(store_error_names, kind);
}

void Store::set(std::string_view key, std::span<const std::byte> value) {
  check_key(key, "set");
  check_value(key, value, "set");
  do_set(key, value);
}

std::vector<std::byte> Store::get(std::string_view key, Duration timeout) {
  check_key(key, "get");
  check_timeout("get", timeout);
  return do_get(key, timeout);
}

std::optional<std::vector<std::byte>> Store::try_get(std::string_view key) {
  check_key(key, "try_get");
  return do_try_get(key);
}

std::int64_t Store::add(std::string_view key, std::int64_t delta) {
  check_key(key, "add");
  return do_add(key, delta);
}

std::vector<std::byte> Store::compare_set(std::string_view key, std::span<const std::byte> expected,
                                          std::span<const std::byte> desired) {
  check_key(key, "compare_set");
  check_value(key, expected, "compare_set");
  check_value(key, desired, "compare_set");
  return do_compare_set(key, expected, desired);
}

void Store::append(std::string_view key, std::span<const std::byte> value) {
  check_key(key, "append");
  check_value(key, value, "append");
  do_append(key, value);
}

bool Store::check(std::span<const std::string> keys) {
  check_keys(keys, "check");
  return do_check(keys);
}

void Store::wait(std::span<const std::string> keys, Duration timeout) {
  check_keys(keys, "wait");
  check_timeout("wait", timeout);
  if (!keys.empty()) do_wait(keys, timeout);
}

bool Store::delete_key(std::string_view key) {
  check_key(key, "delete_key");
  return do_delete_key(key);
}

std::int64_t Store::num_keys() { return do_num_keys(); }

void Store::set_text(std::string_view key, std::string_view value) {
  set(key, as_store_bytes(value));
}

std::string Store::get_text(std::string_view key, Duration timeout) {
  return as_store_text(get(key, timeout));
}

std::optional<std::string> Store::try_get_text(std::string_view key) {
  const std::optional<std::vector<std::byte>> value = try_get(key);
  return value ? std::optional(as_store_text(*value)) : std::nullopt;
}

std::string Store::compare_set_text(std::string_view key, std::string_view expected,
                                    std::string_view desired) {
  return as_store_text(compare_set(key, as_store_bytes(expected), as_store_bytes(desired)));
}

void Store::append_text(std::string_view key, std::string_view value) {
  append(key, as_store_bytes(value));
}

std::span<const std::byte> as_store_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string as_store_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace gang
