// `mesh`: draws the gangs of a layout.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_mesh_command();

}  // namespace gang::harness
