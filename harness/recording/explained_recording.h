// Why the job of a recording hangs.
#pragma once

#include <string>

#include "harness/recording/recording.h"
#include "harness/run/runner.h"

namespace gang::harness {

// The report that a simulated run with these calls would have, as far as the recording goes: its
// findings, blocked calls, timeline. Whatever it says is certain "as recorded". `name`: of the
// recording; `command`: the one that says the same again.
//
// Calls that no rank left out and that have not ended are the finding deadlock: the program is
// right, and what carries it out has stopped.
RunResult explain(const Recording& recording, const std::string& name, const std::string& command);

}  // namespace gang::harness
