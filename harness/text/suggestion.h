// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gang::harness {

// " (did you mean 'all_reduce'?)" where a candidate is near enough to `text` (few edits), else "".
std::string suggestion(std::string_view text, const std::vector<std::string>& candidates);

// "'x' is unknown (did you mean 'y'?); accepted: y, z": the ending of an error about a name. At
// most 24 candidates are listed, then "...".
std::string unknown_name(std::string_view text, const std::vector<std::string>& candidates);

}  // namespace gang::harness
