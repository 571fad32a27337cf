// A 64-bit fingerprint of data, equal on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gang::harness {

// Digests what is added, in order. Not cryptographic. Saved schedules contain its values: they
// never change. A value; 8 bytes of state. Source: the 128-bit multiply-and-fold of wyhash (Wang
// Yi, 2019).
class Digest {
 public:
  void add(std::uint64_t value) noexcept;
  void add(std::span<const std::byte> bytes) noexcept;  // its length is part of the digest
  void add(std::string_view text) noexcept;

  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

// 16 lower-case hexadecimal digits: how digests appear in texts and JSON.
std::string to_hex(std::uint64_t value);

}  // namespace gang::harness
