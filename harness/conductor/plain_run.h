// A Python program without gangsim: its ranks are processes that communicate by themselves.
#pragma once

#include <string>

#include "harness/conductor/launcher.h"
#include "harness/conductor/rank_output.h"
#include "harness/program/output.h"

namespace gang::harness {

struct PlainRun {
  Outputs outputs;      // what the ranks passed to gangsim.output
  std::string failure;  // "rank 3 exited with status 1"; empty: all ended well
};

// Runs the program once, an interpreter for each rank, which find each other as torchrun's do:
// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Blocks; once a rank has failed, kills the others.
PlainRun run_plainly(Poller& poller, PythonProgram program, int world_size, RankOutput& output);

// The outputs in a file of `output` frames. Throws ProtocolError.
std::vector<Output> read_outputs(const std::string& path);

}  // namespace gang::harness
