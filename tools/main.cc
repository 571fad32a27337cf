// The gangsim command.
#include <algorithm>

#include "harness/commands/commands.h"
#include "properties/all_properties.h"
#include "properties/random_program.h"
#include "tools/commands/commands.h"
#include "tools/program_commands.h"

int main(int argc, char** argv) {
  using namespace gang;
  harness::CommandLine command_line = tools::make_program_commands();
  command_line.programs.push_back(properties::random_program());
  const auto laws = properties::all_properties();
  auto checked = properties::properties_over_gloo();
  for (auto& property : properties::properties_over_nccl()) checked.push_back(std::move(property));
  checked.insert(checked.begin(), laws.begin(), laws.end());
  auto& commands = command_line.commands;
  commands.insert(commands.begin(), tools::make_check_command(std::move(checked)));
  commands.push_back(tools::make_bench_command());
  std::vector<harness::ShardFormat> formats = harness::standard_shard_formats();
  formats.push_back(tools::check_shard_format());
  *std::ranges::find(commands, "merge", &harness::Command::name) =
      harness::make_merge_command(std::move(formats));
  command_line.listings.push_back(tools::list_properties(laws));
  return harness::run_command_line(command_line, argc, argv);
}
