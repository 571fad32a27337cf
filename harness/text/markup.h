// Text inside HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace gang::harness {

// `text` as the content of an element or attribute, without anything that could be markup.
std::string markup_escaped(std::string_view text);

// The same for XML 1.0, where an attribute loses its line breaks and tabs unless they are escaped.
// Characters that XML lacks are left out; each byte that is not UTF-8 is U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace gang::harness
