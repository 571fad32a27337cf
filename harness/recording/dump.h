// Reads what the Flight Recorder of one rank has dumped.
#pragma once

#include <string_view>

#include "gang/recording/call_table.h"
#include "gang/recording/dump.h"

namespace gang::harness {

// Whether these bytes may be a dump, by how they begin.
bool looks_like_dump(std::string_view bytes) noexcept;

// Reads a dump, a pickle or JSON, of PyTorch 2.5 or later. Its calls are added to `calls`.
// Throws InvalidArgument (what is wrong, at which byte or in which entry); CutOffDump.
// Source: PyTorch 2.6.0, FlightRecorder.cpp.
Dump read_dump(std::string_view bytes, CallTable& calls);

}  // namespace gang::harness
