#include "sim/state/fingerprint.h"

namespace gang::sim {

std::uint64_t Fingerprint::hash_of(std::string_view label) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char character : label)
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3ULL;
  return hash | 1;  // zero means: no label
}

}  // namespace gang::sim
