// A program whose ranks leave dumps, as those of a real job do.
#pragma once

#include <string>

#include "harness/program/program.h"
#include "harness/run/runner.h"

namespace gang::harness {

// `program` with the calls of all its gangs recorded, on any backend: each rank notes its dump,
// however it ends (Rank::note). A rank whose process is killed leaves none. `is_in_stream`: the
// backend carries the calls of a rank out in the order of their launch.
Program recorded(Program program, bool is_in_stream);

// Whether a run with this specification is one of those.
bool runs_in_streams(const RunSpecification& specification);

// Writes the dumps of a run of a recorded program into `folder`, which is made if need be:
// "nccl_trace_rank_0", ... Throws InvalidArgument: the folder or a file cannot be written.
void write_dumps(const RunResult& result, const std::string& folder);

}  // namespace gang::harness
