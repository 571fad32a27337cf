// Objects that another rank has broadcast, as MessagePack.

#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/object.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<gang::Object> objects;
  try {
    objects = gang::unpack_objects(gang::fuzz::Input(data, size).rest());
  } catch (const gang::InvalidArgument&) {
    return 0;
  }
  const std::vector<std::byte> packed = gang::pack_objects(objects);
  // Compared as bytes: not a number is not equal to itself.
  gang::fuzz::require(gang::pack_objects(gang::unpack_objects(packed)) == packed,
                      "objects are unpacked from what they are packed as");
  return 0;
}
