// Text inside HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace gang::harness {

// `text` as the content of an element or attribute: nothing in it is taken for markup.
std::string markup_escaped(std::string_view text);

// The same for XML 1.0, where an attribute loses its line breaks unless they are escaped;
// characters that XML has no word for are left out.
std::string xml_escaped(std::string_view text);

}  // namespace gang::harness
