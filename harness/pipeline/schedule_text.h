// Pipeline schedules as text.
#pragma once

#include <string>
#include <string_view>

#include "harness/pipeline/schedule.h"

namespace gang::harness {

// A line per rank, its passes separated by commas, as in "0F0,0F1,,0B0": stage, F, B, I or W, and
// microbatch; cells may be empty. There are as many ranks as lines, as many stages and microbatches
// as the passes name. (The form of PyTorch's pipelining schedules before messages are added.)
//
// Throws InvalidArgument: `source` and the line, what is wrong, what is accepted. What it reads may
// still be no schedule (check_schedule).
PipelineSchedule parse_schedule(std::string_view text, std::string_view source);

// The same form, without empty cells.
std::string to_text(const PipelineSchedule& schedule);

}  // namespace gang::harness
