// `replay`: a saved schedule again.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_replay_command();

}  // namespace gang::harness
