// Ranks in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gang::sim {

// "rank 3", "ranks 0-3,8": root ranks, ascending.
std::string ranks_text(const std::vector<int>& ranks);

// "rank 3 waits", "ranks 0-3 wait": `one` and `many` are the singular and plural of a verb.
std::string ranks_do(const std::vector<int>& ranks, std::string_view one, std::string_view many);

// `text`, not empty, with a capital letter first.
std::string capitalised(std::string text);

}  // namespace gang::sim
