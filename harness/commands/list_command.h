// `list`: what there is: programs, backends, ....
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_list_command();

}  // namespace gang::harness
