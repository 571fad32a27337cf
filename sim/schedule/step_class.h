// Which class of equivalent schedules a run belongs to.
#pragma once

#include <cstdint>

#include "sim/schedule/step_log.h"

namespace gang::sim {

// Equal for two runs of a program that differ only in the order of steps that commute; of runs that
// are not equivalent, equal by chance only. The log of a run under any scheduler.
std::uint64_t class_of(const StepLog& log);

// The same, where other runs of the program are known to receive from any source as `known` says:
// an exploration tells runs apart by all that it has learned.
std::uint64_t class_of(const StepLog& log, const Knowledge& known);

}  // namespace gang::sim
