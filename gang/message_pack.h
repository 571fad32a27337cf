// MessagePack that somebody else has written.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <nlohmann/json_fwd.hpp>

namespace gang {

// Lists and maps within each other. Every reader of a value recurses, on stacks that may be small.
inline constexpr int deepest_nesting = 64;

// The one value that `bytes` hold; none if they are anything else, or nest it more deeply.
// Source: the MessagePack specification, as nlohmann-json reads it.
std::optional<nlohmann::json> parse_message_pack(std::span<const std::byte> bytes);

}  // namespace gang
