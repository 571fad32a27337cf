// Lists of ranks, as messages show them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gang {

// "0,2", "4-7", "0-1022:2" (every second rank): in the order given. What would exceed `limit`
// characters is shown as "...".
std::string ranges_text(const std::vector<int>& ranks, std::size_t limit);

// "rank 3", "ranks 0,2", "ranks 4-7": at most about 40 characters.
std::string ranks_text(const std::vector<int>& ranks);

}  // namespace gang
