// Durations as people write them.
#pragma once

#include <string>
#include <string_view>

#include "gang/duration.h"

namespace gang::harness {

// "5 ms", "1.5s", "15 min", "2 h", "100us", "7ns", or "none" for no_timeout. Throws InvalidArgument
// naming the text and what is accepted; negative and overlong durations are not.
Duration parse_duration(std::string_view text);

// A text without spaces that parse_duration gives back exactly: "1500ms".
std::string to_duration_text(Duration duration);

}  // namespace gang::harness
