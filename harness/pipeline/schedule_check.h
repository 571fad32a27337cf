// Is it a schedule? What it is checked for, before anything is run.
#pragma once

#include <string>
#include <vector>

#include "harness/pipeline/schedule.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {

// What is wrong with `schedule`, in sentences; empty where it is right: every microbatch passes
// every stage once, on the rank of the stage: forward, then backward as a whole or input before
// weight; and no pass waits for one that waits for it. At most 8 complaints.
std::vector<std::string> check_schedule(const PipelineSchedule& schedule);

// The most activations that each rank stores at a time, by rank: one for each stage and microbatch,
// from its forward pass to the end of its backward (or backward weight) pass.
std::vector<int> peak_activations(const PipelineSchedule& schedule);

// Where `schedule`, which is right, is worse or better than its formulas say; empty: as they say.
// Stored activations may be fewer, idle times are equal.
std::vector<std::string> check_bounds(const PipelineSchedule& schedule,
                                      const ScheduleBounds& bounds);

}  // namespace gang::harness
