#include "gang/object.h"

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/message_pack.h"

namespace gang {

std::span<Object> ObjectSpan::objects() const noexcept { return {first_, count_}; }

std::vector<std::byte> pack_objects(std::span<const Object> objects) {
  Object list = Object::array();
  for (const Object& object : objects) list.push_back(object);
  const std::vector<std::uint8_t> packed = Object::to_msgpack(list);
  const auto* first = reinterpret_cast<const std::byte*>(packed.data());
  return {first, first + packed.size()};
}

std::vector<Object> unpack_objects(std::span<const std::byte> bytes) {
  std::optional<Object> list = parse_message_pack(bytes);
  if (!list || !list->is_array())
    throw InvalidArgument(std::to_string(bytes.size()) +
                          " bytes are not packed objects; must be one MessagePack array, nested " +
                          std::to_string(deepest_nesting) + " levels deep at most");
  return std::move(list->get_ref<Object::array_t&>());
}

}  // namespace gang
