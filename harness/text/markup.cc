#include "harness/text/markup.h"

#include <boost/locale/utf.hpp>

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

namespace utf = boost::locale::utf;

// Source: XML 1.0, production Char; its white space is escaped before.
bool is_of_xml(utf::code_point point) noexcept {
  return point >= 0x20 && point != 0xfffe && point != 0xffff;
}

// "" for a character that an attribute keeps as it is.
std::string_view xml_reference_for(char character) noexcept {
  switch (character) {
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return reference_for(character);
  }
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
  constexpr std::string_view replacement = "\uFFFD";
  std::string escaped;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const std::string_view reference = xml_reference_for(*at);
    const char* const begin = at;
    const utf::code_point point = utf::utf_traits<char>::decode(at, text.data() + text.size());
    if (!reference.empty())
      escaped += reference;
    else if (point == utf::illegal || point == utf::incomplete) {
      escaped += replacement;
      at = begin + 1;  // what follows may be a character
    } else if (is_of_xml(point))
      escaped.append(begin, at);
  }
  return escaped;
}

}  // namespace gang::harness
