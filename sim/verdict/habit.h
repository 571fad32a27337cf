// What two ranks did before where they part now.
#pragma once

#include <optional>

#include "sim/verdict/call_sequences.h"
#include "sim/verdict/consensus.h"

namespace gang::sim {

// Of a world of two, whose calls alone do not tell which of them is wrong. None where they have not
// been there before, or have gone on from there in both ways. O(calls).
std::optional<Habit> find_habit(const CallSequences& sequences);

}  // namespace gang::sim
