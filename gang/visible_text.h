// Text of a program's, for terminals and tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gang {

enum class LineBreaks : std::uint8_t { escaped, kept };

// `text` with every control character as an escape sequence, "\x1b", "\t": what a program names
// its calls must not move the cursor of who reads a report. All other characters stay as they are.
std::string visible(std::string_view text, LineBreaks breaks = LineBreaks::escaped);

}  // namespace gang
