// `run`: one program, program file or scenario on simulated ranks.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_run_command();

}  // namespace gang::harness
