// The backend gloo: a process per rank, made by this one.
#pragma once

#include "harness/backend.h"

namespace gang::harness {

// Runs the program on every rank in a process of its own, over Gloo on the loopback device, and
// validates every call (ValidatingGang): calls that do not match are told, not waited for. Ranks
// that wait in vain end after `options.timeout`. What the ranks put out is recorded here.
// Throws NotSupported where gloo is not built.
sim::Report run_on_gloo(const Launch& launch);

}  // namespace gang::harness
