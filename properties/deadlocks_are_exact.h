// The deadlock verdict is exact.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// A program of barriers on a tree of gangs, in which one rank leaves out one call.
struct MissingCall {
  GangProgram program;
  int rank = 0;            // modulo the world
  int step = 0;            // modulo the steps
  bool is_missing = true;  // false: no call is left out

  friend bool operator==(const MissingCall&, const MissingCall&) = default;
};

MissingCall generate_missing_call(Draw& draw);
std::string to_text(const MissingCall& missing);
std::vector<MissingCall> shrinks(const MissingCall& missing);

// The step at which each rank blocks forever; no_step for a rank that finishes. Computed by
// stepping through the program, one barrier at a time.
inline constexpr int no_step = -1;
std::vector<int> blocked_steps(const MissingCall& missing);

std::vector<Property> deadlocks_are_exact(const Subject& subject = {});

}  // namespace gang::properties
