// The gangsim command.
#include "harness/commands/command_line.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "properties/all_properties.h"
#include "properties/random_program.h"
#include "tools/commands/commands.h"

int main(int argc, char** argv) {
  using namespace gang;
  harness::CommandLine command_line{
      .binary = "gangsim",
      .description = "gangsim: runs gang programs on simulated ranks and explains what is wrong.",
      .programs = harness::with_faulty_programs(harness::all_programs()),
      .commands = harness::make_standard_commands(),
      .listings = harness::make_standard_listings(),
  };
  command_line.programs.push_back(harness::two_communicators_program());
  command_line.programs.push_back(properties::random_program());
  const auto laws = properties::all_properties();
  auto checked = properties::properties_over_gloo();
  for (auto& property : properties::properties_over_nccl()) checked.push_back(std::move(property));
  checked.insert(checked.begin(), laws.begin(), laws.end());
  auto& commands = command_line.commands;
  commands.insert(commands.begin(), tools::make_check_command(std::move(checked)));
  commands.push_back(tools::make_bench_command());
  command_line.listings.push_back(tools::list_properties(laws));
  return harness::run_command_line(command_line, argc, argv);
}
