// Pipeline schedules as text.
#pragma once

#include <string>
#include <string_view>

#include "harness/pipeline/schedule.h"

namespace gang::harness {

// One line per rank, with passes separated by commas, as in "0F0,0F1,,0B0": stage, F, B, I or W,
// and microbatch. Cells may be empty. The passes determine the number of stages and microbatches.
// (The form of PyTorch's pipelining schedules before messages are added.)
//
// Throws InvalidArgument: `source` and the line, what is wrong, what is accepted. The result may
// still be an invalid schedule (check_schedule).
PipelineSchedule parse_schedule(std::string_view text, std::string_view source);

// The same form, without empty cells.
std::string to_text(const PipelineSchedule& schedule);

}  // namespace gang::harness
