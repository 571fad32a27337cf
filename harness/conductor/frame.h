// Frames of the protocol between a rank's process and the conductor (PROTOCOL.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/error.h"

namespace gang::harness {

// A client broke the protocol. what() says how: "a frame of kind 3 ends after 12 bytes".
class ProtocolError : public Error {
 public:
  using Error::Error;
};

// The bytes of a frame; a received one is without its size.
using Frame = std::vector<std::byte>;

inline constexpr std::uint32_t most_frame_bytes = 64 * 1024 * 1024;

// Reads the fields of a frame in their order. Borrows the frame. Every function throws
// ProtocolError if the frame ends too early or a length in it cannot be right.
class FrameReader {
 public:
  explicit FrameReader(std::span<const std::byte> frame) : left_(frame), size_(frame.size()) {}

  // An integer of this size, little-endian.
  template <std::integral T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string_view text();
  std::span<const std::byte> bytes();

  template <std::integral T>
  std::vector<T> numbers() {
    const auto count = number<std::uint32_t>();
    const std::span<const std::byte> all = take(std::size_t{count} * sizeof(T));
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), all.data(), all.size());
    return values;
  }

  // The frame must have been read to its end.
  void finish() const;

 private:
  std::span<const std::byte> take(std::size_t count);

  std::span<const std::byte> left_;
  std::size_t size_;
};

// Builds a frame, with its size.
class FrameWriter {
 public:
  explicit FrameWriter(std::uint8_t kind) {
    constexpr std::size_t most_answers = 128;
    bytes_.reserve(most_answers);
    bytes_.resize(sizeof(std::uint32_t));
    number(kind);
  }

  template <std::integral T>
  void number(T value) {
    append(&value, sizeof(T));
  }
  void text(std::string_view text);
  void bytes(std::span<const std::byte> bytes);

  template <std::integral T>
  void numbers(std::span<const T> values) {
    number(static_cast<std::uint32_t>(values.size()));
    append(values.data(), values.size_bytes());
  }

  // The whole frame, with its size; nothing may be added after this.
  Frame finish();

 private:
  void append(const void* data, std::size_t size);

  Frame bytes_;
};

}  // namespace gang::harness
