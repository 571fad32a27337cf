// `pipeline`: a pipeline schedule as a table, and what is proven of it.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_pipeline_command();

}  // namespace gang::harness
