// Reads JSON into a ValueTree.
#pragma once

#include <string_view>

#include "harness/recording/value_tree.h"

namespace gang::harness {

// The value that `bytes` hold. Throws InvalidArgument (the byte, what is wrong there), and
// CutOffDump where the file ends too early. Memory: O(bytes); nothing recurses.
ValueTree read_json_values(std::string_view bytes);

// Whether `bytes` begin with an object.
bool looks_like_json(std::string_view bytes) noexcept;

}  // namespace gang::harness
