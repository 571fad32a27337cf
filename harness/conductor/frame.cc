#include "harness/conductor/frame.h"

#include <utility>

#include <fmt/format.h>

namespace gang::harness {

std::span<const std::byte> FrameReader::take(std::size_t count) {
  if (count > left_.size())
    throw ProtocolError(
        fmt::format("a frame of {} bytes ends {} bytes too early", size_, count - left_.size()));
  const std::span<const std::byte> taken = left_.first(count);
  left_ = left_.subspan(count);
  return taken;
}

std::span<const std::byte> FrameReader::bytes() { return take(number<std::uint32_t>()); }

std::string_view FrameReader::text() {
  const std::span<const std::byte> text = bytes();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void FrameReader::finish() const {
  if (!left_.empty())
    throw ProtocolError(
        fmt::format("a frame of {} bytes has {} bytes too many", size_, left_.size()));
}

void FrameWriter::append(const void* data, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), first, first + size);
}

void FrameWriter::text(std::string_view text) {
  number(static_cast<std::uint32_t>(text.size()));
  append(text.data(), text.size());
}

void FrameWriter::bytes(std::span<const std::byte> bytes) {
  number(static_cast<std::uint32_t>(bytes.size()));
  append(bytes.data(), bytes.size());
}

Frame FrameWriter::finish() {
  const auto size = static_cast<std::uint32_t>(bytes_.size() - sizeof(std::uint32_t));
  std::memcpy(bytes_.data(), &size, sizeof size);
  return std::move(bytes_);
}

}  // namespace gang::harness
