// Writes dumps as PyTorch's Flight Recorder does.
#pragma once

#include <string>

#include "gang/recording/call_table.h"
#include "gang/recording/dump.h"

namespace gang {

// `dump` as a pickle that torchfrtrace of PyTorch 2.6 reads, and read_dump, which gets the same
// dump back. Calls that torchfrtrace does not know (barrier, reduce, making gangs) are an
// all_reduce to it; what the format lacks (reduce operation, root, tag, label) is in fields of
// ours, "gangsim". A dump without calls gets one that is not a call: torchfrtrace wants one.
std::string to_pickle(const Dump& dump, const CallTable& calls);

}  // namespace gang
