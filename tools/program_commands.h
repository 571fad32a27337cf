// What every main function of the gangsim command begins with.
#pragma once

#include "harness/commands/command_line.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"

namespace gang::tools {

// The commands that run programs, and the programs that come with gangsim.
inline harness::CommandLine make_program_commands() {
  harness::CommandLine command_line{
      .binary = "gangsim",
      .description = "gangsim: runs gang programs on simulated ranks and explains what is wrong.",
      .programs = harness::with_faulty_programs(harness::all_programs()),
      .commands = harness::make_standard_commands(),
      .listings = harness::make_standard_listings(),
  };
  command_line.programs.push_back(harness::two_communicators_program());
  return command_line;
}

}  // namespace gang::tools
