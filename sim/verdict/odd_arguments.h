// Whose arguments are wrong, where a call failed for its arguments.
#pragma once

#include <vector>

#include "sim/verdict/call_sequences.h"
#include "sim/verdict/deviation.h"

namespace gang::sim {

// Of ranks that make the same call: those whose arguments are not what they should be. Arguments
// may differ from gang to gang, so that what counts is, in this order: what most members of the
// gang pass; what the members passed before, where no gang changed that; what all other gangs pass.
// Only of calls that failed. O(places · log).
std::vector<int> odd_in_arguments(const CallSequences& sequences, const std::vector<Place>& places);

}  // namespace gang::sim
