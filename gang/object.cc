#include "gang/object.h"

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang {

std::vector<std::byte> pack_objects(std::span<const Object> objects) {
  Object list = Object::array();
  for (const Object& object : objects) list.push_back(object);
  const std::vector<std::uint8_t> packed = Object::to_msgpack(list);
  const auto* first = reinterpret_cast<const std::byte*>(packed.data());
  return {first, first + packed.size()};
}

std::vector<Object> unpack_objects(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  Object list = Object::from_msgpack(first, first + bytes.size(), /*strict=*/true,
                                     /*allow_exceptions=*/false);
  if (!list.is_array())
    throw InvalidArgument(std::to_string(bytes.size()) +
                          " bytes are not packed objects; must be one MessagePack array");
  return std::move(list.get_ref<Object::array_t&>());
}

}  // namespace gang
