// The commands that every binary has. `variables` are read when a command runs; they are those of
// the process, except in tests.
#pragma once

#include <functional>
#include <memory>

#include "gang/environment.h"
#include "harness/commands/command_line.h"
#include "harness/commands/shard_format.h"
#include "harness/commands/shard_option.h"

namespace gang::harness {

std::unique_ptr<Command> make_run_command();     // a program on N ranks
std::unique_ptr<Command> make_replay_command();  // a saved schedule again
std::unique_ptr<Command> make_explore_command(
    ReadEnvironment variables = process_environment);  // many schedules and faults
std::unique_ptr<Command> make_explain_command();       // a saved run, or a folder of them
std::unique_ptr<Command> make_compare_command(
    ReadEnvironment variables = process_environment);  // simulated against real processes
std::unique_ptr<Command> make_merge_command(
    std::vector<ShardFormat> formats = standard_shard_formats());  // shards of one run
std::unique_ptr<Command> make_mesh_command();                      // the gangs of a parallel layout
std::unique_ptr<Command> make_pipeline_command();                  // a pipeline schedule
std::unique_ptr<Command> make_list_command();                      // programs, backends, ...
std::unique_ptr<Command> make_python_command();  // a Python program, a process per rank
std::unique_ptr<Command> make_torch_command();   // a PyTorch program, likewise

// Inside torchrun: a real backend against simulation.
std::unique_ptr<Command> make_conform_command(ReadEnvironment variables = process_environment);

}  // namespace gang::harness
