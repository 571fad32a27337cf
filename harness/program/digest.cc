#include "harness/program/digest.h"

#include <cstring>

#include <fmt/format.h>

namespace gang::harness {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

void Digest::add(std::uint64_t value) noexcept {
  state_ = fold(state_ ^ value ^ 0xa0761d6478bd642f, 0xe7037ed1a0b428db) + (value | 1);
}

void Digest::add(std::span<const std::byte> bytes) noexcept {
  add(bytes.size());
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = bytes.size() < sizeof word ? bytes.size() : sizeof word;
    std::memcpy(&word, bytes.data(), size);
    add(word);
    bytes = bytes.subspan(size);
  }
}

void Digest::add(std::string_view text) noexcept { add(std::as_bytes(std::span{text})); }

std::string to_hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace gang::harness
