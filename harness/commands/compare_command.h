// `compare`: one program, simulated and on real processes.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_compare_command();

}  // namespace gang::harness
