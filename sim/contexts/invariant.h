// Assertions about ourselves that stay on in release builds.
#pragma once

namespace gang::sim {

// Says what is broken and where, and aborts. A bug of ours, never of the program under test.
[[noreturn]] void invariant_broken(const char* what, const char* file, int line) noexcept;

}  // namespace gang::sim

#define GANGSIM_INVARIANT(condition, what) \
  ((condition) ? void() : ::gang::sim::invariant_broken(what, __FILE__, __LINE__))
