// Two unrelated programs on disjoint halves of a world.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"

namespace gang::properties {

// The ranks of `first` come first; `second` runs on the rest.
struct ProgramPair {
  GangProgram first;
  GangProgram second;
  RunChoices run;

  int world() const noexcept { return first.world + second.world; }
  friend bool operator==(const ProgramPair&, const ProgramPair&) = default;
};

ProgramPair generate_pair(Draw& draw);
std::string to_text(const ProgramPair& pair);
std::vector<ProgramPair> shrinks(const ProgramPair& pair);

}  // namespace gang::properties
