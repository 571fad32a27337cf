// What every fuzz target needs: its input as text or bytes, and checks that end the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>

// Called by libFuzzer with each input. Whatever ends the process, or leaves this function as an
// exception, is a find: a target catches what its parser documents, and nothing else.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gang::fuzz {

// The input, taken from its front.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool is_empty() const noexcept { return rest_.empty(); }

  // The next byte; 0 at the end.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }

  // At most so many bytes.
  std::span<const std::byte> bytes(std::size_t most) {
    const auto taken = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return std::as_bytes(taken);
  }
  std::span<const std::byte> rest() { return bytes(rest_.size()); }
  std::string_view text(std::size_t most) {
    const std::span<const std::byte> taken = bytes(most);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  std::string_view rest_text() { return text(rest_.size()); }

 private:
  std::span<const std::uint8_t> rest_;
};

// Ends the run, a find, unless `holds`.
inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "fuzz: does not hold: " << what << '\n';
  std::abort();
}

}  // namespace gang::fuzz
