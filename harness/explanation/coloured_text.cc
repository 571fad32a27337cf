#include "harness/explanation/coloured_text.h"

#include <cstdlib>

namespace gang::harness {
namespace {

std::string_view style_of(sim::TextRole role) noexcept {
  switch (role) {
    case sim::TextRole::plain:
      return "";
    case sim::TextRole::good_verdict:
      return "\033[1;32m";
    case sim::TextRole::bad_verdict:
      return "\033[1;31m";
    case sim::TextRole::strong:
      return "\033[1m";
    case sim::TextRole::faint:
      return "\033[2m";
  }
  return "";
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

TextStyle text_style(bool is_terminal) {
  if (!is_terminal || is_set("NO_COLOR")) return TextStyle::plain;
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return is_dumb ? TextStyle::plain : TextStyle::coloured;
}

std::string styled(const sim::MarkedText& text, TextStyle style) {
  if (style == TextStyle::plain) return plain_text(text);
  std::string result;
  for (const sim::TextSpan& span : text.spans()) {
    const std::string_view begin = style_of(span.role);
    result.append(begin).append(span.text).append(begin.empty() ? "" : "\033[0m");
  }
  return result;
}

}  // namespace gang::harness
