#include "harness/text/markup.h"

namespace gang::harness {
namespace {

// "" for a character that stands for itself.
std::string_view reference_for(char character) noexcept {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

bool is_of_xml(char character) noexcept {
  return static_cast<unsigned char>(character) >= 0x20 || character == '\t';
}

}  // namespace

std::string markup_escaped(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    const std::string_view reference = reference_for(character);
    if (reference.empty())
      escaped += character;
    else
      escaped += reference;
  }
  return escaped;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char character : markup_escaped(text)) {
    if (character == '\n')
      escaped += "&#10;";
    else if (is_of_xml(character))
      escaped += character;
  }
  return escaped;
}

}  // namespace gang::harness
