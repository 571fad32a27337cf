// `conform`: inside torchrun, does the real backend do what simulation says?
#pragma once

#include <functional>
#include <memory>

#include "gang/environment.h"
#include "harness/commands/command_line.h"

namespace gang::harness {

// `variables` are asked when the command runs: those of the process, but for tests.
std::unique_ptr<Command> make_conform_command(
    std::function<EnvironmentVariables()> variables = process_environment);

}  // namespace gang::harness
