#include "gang/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gang {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
}

}  // namespace gang
