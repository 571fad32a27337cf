#include "gang/visible_text.h"

#include <fmt/format.h>

namespace gang {
namespace {

std::string escaped(unsigned char control) {
  switch (control) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\x{:02x}", control);
  }
}

}  // namespace

std::string visible(std::string_view text, LineBreaks breaks) {
  constexpr unsigned char first_of_two = 0xc2;  // of the controls U+0080 to U+009F in UTF-8
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_control = byte < 0x20 || byte == 0x7f;
    if (byte == first_of_two && next >= 0x80 && next < 0xa0) {
      result += escaped(next);
      ++i;
    } else if (is_control && !(byte == '\n' && breaks == LineBreaks::kept)) {
      result += escaped(byte);
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace gang
