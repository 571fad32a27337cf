#include "harness/conductor/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace gang::harness {

void Connection::receive() {
  bool may_be_more = true;
  while (is_open() && may_be_more) {
    may_be_more = read_some();
    split_into_frames();
  }
}

// Whether there may be more.
bool Connection::read_some() {
  constexpr std::size_t most_descriptors = 16;
  std::array<std::byte, 16384> chunk;
  iovec part{.iov_base = chunk.data(), .iov_len = chunk.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  do got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) {
    if (got == 0 || errno != EAGAIN) close();
    return false;
  }
  received_.insert(received_.end(), chunk.begin(), chunk.begin() + got);
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
       part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part_of) + i * sizeof(int), sizeof(int));
      descriptors_.emplace_back(descriptor);
    }
  }
  return static_cast<std::size_t>(got) == chunk.size();
}

void Connection::split_into_frames() {
  std::size_t begin = 0;
  while (received_.size() - begin >= sizeof(std::uint32_t)) {
    std::uint32_t size = 0;
    std::memcpy(&size, received_.data() + begin, sizeof size);
    if (size == 0 || size > most_frame_bytes) {
      frames_.emplace_back();  // an empty frame, which no message is
      close();
      received_.clear();
      return;
    }
    if (received_.size() - begin - sizeof size < size) break;
    const auto first = received_.begin() + static_cast<std::ptrdiff_t>(begin + sizeof size);
    frames_.emplace_back(first, first + size);
    begin += sizeof size + size;
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(begin));
}

Frame Connection::take() {
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

std::optional<Descriptor> Connection::take_descriptor() {
  if (descriptors_.empty()) return std::nullopt;
  Descriptor descriptor = std::move(descriptors_.front());
  descriptors_.pop_front();
  return descriptor;
}

void Connection::send(const Frame& frame) {
  flush();
  const std::span<const std::byte> left =
      std::span(frame).subspan(has_unsent() ? 0 : write_some(frame));
  if (left.empty() || !is_open()) return;
  unsent_.insert(unsent_.end(), left.begin(), left.end());
  if (unsent_.size() - flushed_ <= most_unsent_bytes) return;
  unsent_.clear();
  flushed_ = 0;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void Connection::flush() noexcept {
  if (!has_unsent()) return;
  flushed_ += write_some(std::span(unsent_).subspan(flushed_));
  if (flushed_ < unsent_.size()) return;
  unsent_.clear();
  flushed_ = 0;
}

// Returns how much needs no other try: all of it if the peer is gone. What that still sent can be
// read.
std::size_t Connection::write_some(std::span<const std::byte> bytes) noexcept {
  std::size_t written = 0;
  while (written < bytes.size() && is_open()) {
    const std::span<const std::byte> left = bytes.subspan(written);
    const ssize_t sent =
        ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0)
      written += static_cast<std::size_t>(sent);
    else if (errno == EAGAIN)
      return written;
    else if (errno != EINTR)
      return bytes.size();
  }
  return bytes.size();
}

}  // namespace gang::harness
