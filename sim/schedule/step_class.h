// Which class of equivalent schedules a run belongs to.
#pragma once

#include <cstdint>

#include "sim/schedule/step_log.h"

namespace gang::sim {

// Equal for two runs of a program that differ only in the order of steps that commute; of runs that
// are not equivalent, equal by chance only. The log of a run under any scheduler.
std::uint64_t class_of(const StepLog& log);

}  // namespace gang::sim
