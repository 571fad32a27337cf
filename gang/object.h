// Values that ranks broadcast to each other. The only public header of gang/ that shows nlohmann's
// JSON: who broadcasts objects includes it, and links nlohmann_json::nlohmann_json.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace gang {

// null, bool, int, float, text, bytes, list or map: a JSON value that may hold binary strings
// (include <nlohmann/json.hpp> to use one).
using Object = nlohmann::json;

// A borrowed list of objects, made from whatever std::span<Object> is made from: what
// Gang::broadcast_objects takes, which without this header is only declared.
class ObjectSpan {
 public:
  template <typename List>
    requires(std::convertible_to<List, std::span<Object>> &&
             !std::same_as<std::remove_cvref_t<List>, ObjectSpan>)
  ObjectSpan(List&& list) {
    const std::span<Object> objects(std::forward<List>(list));
    first_ = objects.data();
    count_ = objects.size();
  }
  ObjectSpan(Object* first, std::size_t count) : first_(first), count_(count) {}

  std::span<Object> objects() const noexcept;

 private:
  Object* first_ = nullptr;
  std::size_t count_ = 0;
};

// The objects as one MessagePack array, and back. `unpack_objects` throws InvalidArgument for any
// other bytes, and for lists and maps more than 64 levels deep, that array included. Source: the
// MessagePack specification, as nlohmann-json writes it.
std::vector<std::byte> pack_objects(std::span<const Object> objects);
std::vector<Object> unpack_objects(std::span<const std::byte> bytes);

}  // namespace gang
