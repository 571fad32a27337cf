// The conductor's side of one connection to a rank's process.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "harness/conductor/descriptor.h"
#include "harness/conductor/frame.h"

namespace gang::harness {

// A stream of frames both ways. A peer that is gone, or that sends a frame of an impossible size,
// closes it; what it sent before can still be taken.
class Connection {
 public:
  explicit Connection(Descriptor socket) noexcept : socket_(std::move(socket)) {}

  // Reads what has arrived; never blocks.
  void receive();

  bool has_frame() const noexcept { return !frames_.empty(); }
  Frame take();

  // The oldest descriptor that came with a frame; none if there is none.
  std::optional<Descriptor> take_descriptor();

  // Never blocks: what the peer does not take at once is kept, and `flush` tries again. A peer that
  // leaves more than `most_unsent_bytes` is cut off.
  void send(const Frame& frame);
  void flush() noexcept;
  bool has_unsent() const noexcept { return !unsent_.empty(); }
  static constexpr std::size_t most_unsent_bytes = 2 * std::size_t{most_frame_bytes};

  bool is_open() const noexcept { return socket_.is_open(); }
  void close() noexcept { socket_.close(); }
  int descriptor() const noexcept { return socket_.get(); }

 private:
  bool read_some();
  void split_into_frames();
  std::size_t write_some(std::span<const std::byte> bytes) noexcept;

  Descriptor socket_;
  std::vector<std::byte> received_;  // not yet a whole frame
  std::deque<Frame> frames_;
  std::vector<std::byte> unsent_;
  std::size_t flushed_ = 0;  // bytes of unsent_ that have been sent
  std::deque<Descriptor> descriptors_;
};

}  // namespace gang::harness
