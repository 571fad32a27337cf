#include "harness/main.h"

#include <utility>

#include "harness/commands/command_line.h"

namespace gang::harness {

int main(int argc, char** argv, std::vector<Program> programs) {
  CommandLine command_line{
      .binary = argc > 0 ? argv[0] : "gangsim",
      .description = "Runs gang programs on simulated ranks (gangsim).",
      .programs = std::move(programs),
      .commands = make_standard_commands(),
  };
  command_line.listings = make_standard_listings();
  return run_command_line(command_line, argc, argv);
}

}  // namespace gang::harness
