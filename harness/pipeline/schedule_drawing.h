// A schedule as a table for people.
#pragma once

#include <string>

#include "harness/pipeline/schedule_timeline.h"

namespace gang::harness {

// A row per rank, a column per unit of time, at most 80 columns wide: further units of time follow
// in tables below, up to about 200 lines. "F3" is the forward pass of microbatch 3, "2F3" on stage
// 2 where a rank has several stages; "==" goes on, "." idles.
std::string draw(const ScheduleTimeline& timeline, const PipelineSizes& sizes);

}  // namespace gang::harness
