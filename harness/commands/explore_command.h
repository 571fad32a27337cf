// gangsim explore: a program under many schedules and faults.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_explore_command();

}  // namespace gang::harness
