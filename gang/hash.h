// The hashes of bytes and of numbers, each defined once. Not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gang {

// XXH3 of `bytes`; `hash` continues that of the bytes before these. Fast, and the same on every
// machine, but not to be saved: it may change with the next version. Source: Y. Collet's xxHash.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash = 0) noexcept;

inline constexpr std::uint64_t fnv1a_basis = 0xcbf29ce484222325;

// FNV-1a, 64 bits, for what traces and seeds contain: its values never change. `hash` continues
// that of the bytes before these. Source: Fowler, Noll and Vo's 64-bit offset basis and prime.
constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes,
                              std::uint64_t hash = fnv1a_basis) noexcept {
  for (const std::byte byte : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

// What splitmix64 adds in each step: 2^64 divided by the golden ratio.
inline constexpr std::uint64_t splitmix64_step = 0x9e3779b97f4a7c15;

// The output function of splitmix64, one to one: every bit of the result depends on every bit of
// `value`. Its values never change. Source: Steele, Lea and Flood, OOPSLA 2014.
constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111eb;
  return value ^ (value >> 31U);
}

// A step of splitmix64: every bit of the result depends on every bit of `hash` and `value`.
constexpr std::uint64_t splitmix64(std::uint64_t hash, std::uint64_t value) noexcept {
  return mixed(hash + value + splitmix64_step);
}

}  // namespace gang
