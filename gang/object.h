// Values that ranks broadcast to each other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gang {

// null, bool, int, float, text, bytes, list or map: a JSON value that may hold binary strings
// (include <nlohmann/json.hpp> to use one).
using Object = nlohmann::json;

// The objects as one MessagePack array, and back. `unpack_objects` throws InvalidArgument for any
// other bytes, and for lists and maps more than 64 levels deep, that array included. Source: the
// MessagePack specification, as nlohmann-json writes it.
std::vector<std::byte> pack_objects(std::span<const Object> objects);
std::vector<Object> unpack_objects(std::span<const std::byte> bytes);

}  // namespace gang
