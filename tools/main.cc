// The gangsim command.

#include "harness/command_line.h"
#include "harness/programs/all_programs.h"
#include "properties/all_properties.h"
#include "tools/commands/check.h"

int main(int argc, char** argv) {
  gang::harness::CommandLine command_line{
      .binary = "gangsim",
      .description = "gangsim: is this gang program right? Runs it on simulated ranks and says.",
      .programs = gang::harness::all_programs(),
      .commands = gang::harness::make_standard_commands(),
      .listings = gang::harness::make_standard_listings(),
  };
  const auto properties = gang::properties::all_properties();
  command_line.commands.insert(command_line.commands.begin(),
                               gang::tools::make_check_command(properties));
  command_line.listings.push_back(gang::tools::list_properties(properties));
  return gang::harness::run_command_line(command_line, argc, argv);
}
