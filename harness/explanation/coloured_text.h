// A report on a terminal.
#pragma once

#include <string>

#include "sim/text/marked_text.h"

namespace gang::harness {

enum class TextStyle { plain, coloured };

// coloured where `is_terminal` and the environment variable NO_COLOR is unset or empty
// (no-color.org) and TERM is not "dumb".
TextStyle text_style(bool is_terminal);

// The text of a report with its verdict, headings and advice set off by colour and weight (ECMA-48
// SGR). Without the escape sequences it is plain_text(text), byte for byte.
std::string styled(const sim::MarkedText& text, TextStyle style);

}  // namespace gang::harness
