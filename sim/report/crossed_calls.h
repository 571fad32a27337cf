// Collectives that met although they do not belong together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace gang::sim {

// "Rank 2 called all_reduce #1 on root[0-3] at a.py:6 and #2 at a.py:5; ranks 0-1,3 called them the
// other way round. ..."
std::string to_string(const CrossedCalls& crossed);

// The first one, and how many more there are; empty if there are none.
std::string to_string(const std::vector<CrossedCalls>& crossed);

}  // namespace gang::sim
