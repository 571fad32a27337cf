// Frames between a rank's process and the conductor, in both directions.

#include "harness/conductor/messages.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

using harness::Frame;

// A message that was understood is understood again, as the same.
template <typename Read>
void check(std::span<const std::byte> frame, const Read& read) {
  Frame again;
  try {
    again = frame_of(read(frame));
  } catch (const harness::ProtocolError&) {
    return;
  }
  const auto body = std::span(again).subspan(sizeof(std::uint32_t));
  require(frame_of(read(body)) == again, "a message is read back from its frame");
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace harness = gang::harness;
  gang::fuzz::Input input(data, size);
  harness::KeptTexts texts;
  if (input.byte() % 2 == 0)
    gang::fuzz::check(input.rest(), [&texts](std::span<const std::byte> frame) {
      return harness::parse_message(frame, texts);
    });
  else
    gang::fuzz::check(input.rest(), harness::parse_server_message);
  return 0;
}
