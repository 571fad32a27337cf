// `explain`: a saved run, for people.
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::harness {

std::unique_ptr<Command> make_explain_command();

}  // namespace gang::harness
