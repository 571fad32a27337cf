// Text inside HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace gang::harness {

// `text` as the content of an element or attribute, without anything that could be markup.
std::string markup_escaped(std::string_view text);

// The same for XML 1.0, where an attribute loses its line breaks unless they are escaped;
// characters that XML lacks are left out.
std::string xml_escaped(std::string_view text);

}  // namespace gang::harness
