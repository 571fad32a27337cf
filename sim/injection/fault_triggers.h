// When faults of a plan happen.
#pragma once

#include <span>

#include "sim/injection/fault_record.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

// Whether the fault happens by itself at a time, whatever the rank does then. An exception needs a
// call to leave the program by; what only slows a rank down needs calls to slow down.
bool happens_by_itself(const Fault& fault);

// Whether `fault` happens to this call of its rank. Counts the call where the trigger counts calls.
bool is_due(World& world, FaultRecord& record, ArmedFault& fault, const GangState& gang,
            const Operation& operation);

// How many calls of a rank are sure to pass before one that one of its faults may happen to.
std::uint64_t quiet_calls_of(std::span<const ArmedFault> armed) noexcept;

}  // namespace gang::sim
