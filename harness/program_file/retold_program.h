// A recording as a program file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/program_file/program_file.h"
#include "harness/recording/recording.h"
#include "sim/options/simulation_options.h"

namespace gang::harness::program_file {

// What the ranks of a recording called, with its gangs, sizes and labels: see RecordedStep. Tensors
// have no contents. Loops are folded, and ranks that do alike share blocks.
struct RetoldProgram {
  std::shared_ptr<const ProgramFile> file;  // its calls stand where the recorded ones stood
  std::string toml;                         // the same for people, who may change it
  int world_size = 1;
  sim::ExecutionModel execution = sim::ExecutionModel::independent;
};

// `name`: what the recording is called in errors and in the file's first line.
// Throws InvalidArgument: the recording has no calls, or one that no program can make.
RetoldProgram retell(const Recording& recording, const std::string& name);

}  // namespace gang::harness::program_file
