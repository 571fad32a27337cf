// The call stacks of blocked contexts, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.h"

namespace gang::sim {

// "ranks 0-2: train at train.py:41, from main at train.py:60", a line for each way that contexts
// came to their calls: from the call's place outwards. A few ways, those of the cause first. Empty
// if no stack says more than the place: it is of one function, or without source lines.
std::string stacks_text(const std::vector<BlockedCall>& blocked);

}  // namespace gang::sim
