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

  // Blocks until the peer has taken it, or is gone.
  void send(std::span<const std::byte> frame) noexcept;

  bool is_open() const noexcept { return socket_.is_open(); }
  void close() noexcept { socket_.close(); }
  int descriptor() const noexcept { return socket_.get(); }

 private:
  bool read_some();
  void split_into_frames();

  Descriptor socket_;
  std::vector<std::byte> received_;  // not yet a whole frame
  std::deque<Frame> frames_;
  std::deque<Descriptor> descriptors_;
};

}  // namespace gang::harness
