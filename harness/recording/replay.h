// The open calls of a recording, made again by simulated ranks.
#pragma once

#include "harness/recording/open_calls.h"
#include "harness/recording/recording.h"
#include "sim/report/report.h"

namespace gang::harness {

// What the simulator finds when every rank makes its open calls once more, without data: who waits
// for whom, and why. Calls of NCCL run in the order in which each rank launched them. Gangs,
// numbers and places are the recorded ones; the program of a rank ends as its recording does.
sim::Report replay_open_calls(const Recording& recording, const OpenCalls& open);

}  // namespace gang::harness
