// Checks a pipeline schedule before anything runs.
#pragma once

#include <string>
#include <vector>

#include "harness/pipeline/schedule.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {

// What is wrong with `schedule`, in at most 8 sentences; empty if it is valid: every microbatch
// passes through every stage once, on the stage's rank, forward and then backward (whole, or input
// before weight), and no two passes wait for each other.
std::vector<std::string> check_schedule(const PipelineSchedule& schedule);

// The most activations that each rank stores at once, by rank: one per stage and microbatch, from
// its forward pass to the end of its backward (or backward weight) pass.
std::vector<int> peak_activations(const PipelineSchedule& schedule);

// Where `schedule`, which must be valid, deviates from its formulas; empty if nowhere. It may store
// fewer activations, but idle times must be equal.
std::vector<std::string> check_bounds(const PipelineSchedule& schedule,
                                      const ScheduleBounds& bounds);

}  // namespace gang::harness
