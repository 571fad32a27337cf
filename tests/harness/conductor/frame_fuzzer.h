// Frames that no good client sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "harness/conductor/messages.h"
#include "tests/harness/conductor/bytes.h"

namespace gang::harness::conducted {

// One frame of each kind, without its size.
inline std::vector<Frame> sample_frames() {
  constexpr CallSite site = CallSite::in_function("dir/train.py\0step", 41);
  std::vector<ClientMessage> messages = {
      HelloMessage{.version = 1, .world_size = 2, .thread_name = "main"},
      GroupMessage{.group = 1, .name = "g", .role = "r", .ranks = {0, 1}, .call_site = site},
      WaitMessage{.ids = {1, 2}, .timeout = Duration{7}, .call_site = site},
      WaitMessage{.ids = {1, 2}, .is_for_any = true, .call_site = site},
      TestMessage{1},
      DropMessage{1, site},
      CloseMessage{1},
      AbortMessage{1},
      BlockMessage{1, 2},
      StoreMessage{.keys = {"key"}, .values = {bytes_of("value")}, .call_site = site},
      OutputMessage{.name = "o", .type = DataType::u8, .count = 3, .values = bytes_of("abc")},
      FailedMessage{.type = "E", .message = "m", .traceback = "t", .call_site = site},
      FindingMessage{.id = "i", .message = "m", .ranks = {1}, .call_site = site},
      ByeMessage{},
      StackMessage{{{7, "main", {site, site}}, {0, "loader", {}}}},
      NewGroupMessage{.init = 1, .name = "2", .ranks = {0, 1}, .call_site = site}};
  for (const bool is_blocking : {false, true})
    messages.push_back(OperationMessage{.is_blocking = is_blocking,
                                        .first = {1, 2},
                                        .second = {3},
                                        .label = "l",
                                        .call_site = site,
                                        .data = bytes_of("data")});
  std::vector<Frame> frames;
  for (const ClientMessage& message : messages) frames.push_back(without_size(frame_of(message)));
  return frames;
}

// The same frames for the same seed.
class FrameFuzzer {
 public:
  explicit FrameFuzzer(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  // Random bytes after the kind of a client's frame.
  Frame noise() {
    Frame noise(1 + below(80));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random_());
    noise[0] = static_cast<std::byte>(1 + below(18));
    return noise;
  }

  // A good frame with bytes changed, bits flipped, its end cut off, or more bytes in it.
  Frame mutated() {
    Frame frame = frames_[below(frames_.size())];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t place = below(frame.size());
      switch (below(5)) {
        case 0:
          frame[place] = static_cast<std::byte>(random_());
          break;
        case 1:
          frame[place] ^= static_cast<std::byte>(1U << below(8));
          break;
        case 2:
          frame.resize(place + 1);
          break;
        case 3:
          overwrite(frame, place, absurd_lengths[below(std::size(absurd_lengths))]);
          break;
        default:
          frame.insert(frame.begin() + static_cast<std::ptrdiff_t>(place), 1 + below(4),
                       static_cast<std::byte>(0xff));
      }
    }
    return frame;
  }

  static constexpr std::uint32_t absurd_lengths[] = {
      0, 1, 0xff, 0xffff, 0x3fffffff, 0x7fffffff, 0x80000000, 0xffffffff};

  // As much of the length as fits at `place`.
  static void overwrite(Frame& frame, std::size_t place, std::uint32_t length) {
    for (std::size_t i = 0; i < sizeof length && place + i < frame.size(); ++i)
      frame[place + i] = static_cast<std::byte>(length >> (8 * i));
  }

 private:
  std::mt19937_64 random_;
  std::vector<Frame> frames_ = sample_frames();
};

// With its size.
inline Frame framed(const Frame& frame) {
  const auto size = static_cast<std::uint32_t>(frame.size());
  Frame whole(sizeof size);
  FrameFuzzer::overwrite(whole, 0, size);
  whole.insert(whole.end(), frame.begin(), frame.end());
  return whole;
}

}  // namespace gang::harness::conducted
