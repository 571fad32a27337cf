// The call stack of a context: walked where it stands, turned into text later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gang/call_site.h"

namespace gang::sim {

// Addresses of the calling context's frames, innermost first, at most 64. Works on fibers and on
// threads. Costs microseconds; nothing is read from disk.
std::vector<std::uintptr_t> walk_call_stack();

// The frames of an address; inlined ones are separate. Functions are without their parameters.
// Parts are empty where the binary does not tell; source lines need debug information (-g). The
// first call reads the debug information of the binary. Threads: any.
std::vector<SourceLocation> describe_frame(std::uintptr_t address);

// The program's part of a walked stack, innermost first: what the gang does inside a call is left
// out, and so is everything below the program.
std::vector<SourceLocation> describe_call_stack(std::span<const std::uintptr_t> addresses);

// Whether this build can name frames; it needs libbacktrace, which comes with GCC.
bool can_name_frames() noexcept;

}  // namespace gang::sim
