#include "harness/explanation/coloured_text.h"

#include <cstdlib>

#include "gang/enum_names.h"

namespace gang::harness {
namespace {

constexpr auto styles =
    names_in_order<sim::TextRole>("", "\033[1;32m", "\033[1;31m", "\033[1m", "\033[2m");

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
    const std::string_view begin = name_of(styles, span.role);
    result.append(begin).append(span.text).append(begin.empty() ? "" : "\033[0m");
  }
  return result;
}

}  // namespace gang::harness
