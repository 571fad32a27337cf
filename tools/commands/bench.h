// `bench`: is gangsim as fast as it promises?
#pragma once

#include <memory>

#include "harness/commands/command_line.h"

namespace gang::tools {

std::unique_ptr<harness::Command> make_bench_command();

}  // namespace gang::tools
