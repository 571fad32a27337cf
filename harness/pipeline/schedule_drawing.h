// A pipeline schedule as a table for people.
#pragma once

#include <string>

#include "harness/pipeline/schedule_timeline.h"

namespace gang::harness {

// A row per rank and a column per unit of time, at most 80 columns wide; later units of time follow
// in tables below, up to about 200 lines. "F3" is the forward pass of microbatch 3 ("2F3", on stage
// 2, if a rank has several stages), "==" continues a pass, "." is idle time.
std::string draw(const ScheduleTimeline& timeline, const PipelineSizes& sizes);

}  // namespace gang::harness
