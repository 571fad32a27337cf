#include "sim/schedule/random_stream.h"

namespace gang::sim {
namespace {

std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) noexcept
    : state_(mix(seed + 0x9e3779b97f4a7c15ULL)) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char character : name)
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3ULL;
  state_ = mix(state_ ^ hash) + mix(index + 1);
}

RandomStream::result_type RandomStream::operator()() noexcept {
  state_ += 0x9e3779b97f4a7c15ULL;
  return mix(state_);
}

std::uint64_t RandomStream::below(std::uint64_t bound) noexcept {
  // Multiplying keeps the bias under bound / 2^64, which no run is long enough to show.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{(*this)()} * bound) >> 64);
}

double RandomStream::uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

}  // namespace gang::sim
