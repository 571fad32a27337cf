// How stores fail: with the same messages for every kind of store.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gang/store/store.h"

namespace gang {

// "get of 'a' at 127.0.0.1:29500 was cancelled". `key` may be empty.
[[noreturn]] void throw_cancelled(const Store& store, std::string_view operation,
                                  std::string_view key);

// "wait of 'a', 'b', 'c' and 2 more at memory timed out after 5 s: no client has set them".
[[noreturn]] void throw_wait_timeout(const Store& store, std::string_view operation,
                                     std::span<const std::string> missing_keys, Duration elapsed);

[[noreturn]] void throw_not_a_number(const Store& store, std::string_view key);

// "add of 'a' at memory": how a message about an operation begins. `key` may be empty.
std::string operation_on(const Store& store, std::string_view operation, std::string_view key);

}  // namespace gang
