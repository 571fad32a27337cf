#include "gang/recording/pickle_writer.h"

#include <limits>

namespace gang {

void PickleWriter::append_number(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
}

void PickleWriter::number(std::int64_t value) {
  using Small = std::numeric_limits<std::int32_t>;
  if (value >= Small::min() && value <= Small::max()) {
    bytes_ += 'J';
    return append_number(static_cast<std::uint32_t>(value), 4);
  }
  bytes_ += "\x8a\x08";
  append_number(static_cast<std::uint64_t>(value), 8);
}

void PickleWriter::text(std::string_view value) {
  bytes_ += 'X';
  append_number(value.size(), 4);
  bytes_ += value;
}

}  // namespace gang
