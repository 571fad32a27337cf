#include "sim/schedule/random_stream.h"

#include "gang/hash.h"

namespace gang::sim {

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) noexcept
    : state_(splitmix64(seed, 0)) {
  state_ = mixed(state_ ^ fnv1a(std::as_bytes(std::span{name}))) + mixed(index + 1);
}

double RandomStream::uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

}  // namespace gang::sim
