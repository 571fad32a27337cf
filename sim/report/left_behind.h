// Contexts that could not be unwound at the end of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gang::sim {

// Why the stack of a context could not be unwound.
enum class LeftBehindBy : std::uint8_t {
  unwinding,   // a destructor or a noexcept function was blocked in a call when the run ended
  ending,      // it called std::exit or std::terminate, or threw where it may not
  swallowing,  // it caught the end of the run again and again, and went on
};

// The stack of such a context stays as it is: what is on it is never destroyed, and leaks.
struct LeftBehind {
  int rank = 0;         // of the root gang
  std::string context;  // "" for the rank's program, else the name of its further context
  LeftBehindBy by = LeftBehindBy::unwinding;

  friend bool operator==(const LeftBehind&, const LeftBehind&) = default;
};

// "2 contexts could not be unwound and leak their memory: ranks 0-1 (blocked in a destructor or a
// noexcept function)". Empty if there are none.
std::string to_string(const std::vector<LeftBehind>& left);

}  // namespace gang::sim
