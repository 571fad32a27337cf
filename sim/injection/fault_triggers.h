// When faults of a plan happen.
#pragma once

#include <span>

#include "sim/injection/fault_record.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

// Whether the fault happens at a fixed time, whatever the rank does then. An exception needs a call
// to be thrown from; faults that only slow a rank down need calls to slow down.
bool happens_by_itself(const Fault& fault);

// Whether `fault` happens at this call of its rank. Counts the call if the trigger counts calls.
bool is_due(World& world, FaultRecord& record, ArmedFault& fault, const GangState& gang,
            const Operation& operation);

// The number of calls that are certain to pass before one that a fault of the rank may affect.
std::uint64_t quiet_calls_of(std::span<const ArmedFault> armed) noexcept;

}  // namespace gang::sim
