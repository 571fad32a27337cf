// Random numbers, split by concern.
#pragma once

#include <cstdint>
#include <string_view>

#include "gang/hash.h"

namespace gang::sim {

// A deterministic stream of random numbers: equal seeds and names give equal streams on every
// machine. Streams of different names do not disturb each other. A value; satisfies
// UniformRandomBitGenerator. Source: SplitMix64 (Steele, Lea and Flood 2014).
class RandomStream {
 public:
  using result_type = std::uint64_t;

  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0) noexcept;

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }

  result_type operator()() noexcept {
    state_ += splitmix64_step;
    return mixed(state_);
  }

  // Uniform in [0, bound); `bound` > 0.
  std::uint64_t below(std::uint64_t bound) noexcept {
    // Multiplication keeps the bias below bound / 2^64, which no run is long enough to show.
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{(*this)()} * bound) >> 64);
  }

  // Uniform in [0, 1).
  double uniform() noexcept;

 private:
  std::uint64_t state_;
};

}  // namespace gang::sim
