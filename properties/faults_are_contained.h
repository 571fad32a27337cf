// Correct programs under faults: nothing hangs, nothing lies.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/property.h"
#include "properties/subject.h"
#include "sim/faults/fault_plan.h"

namespace gang::properties {

// A random program and what goes wrong in it: a drawn plan.
struct FaultedProgram {
  GangProgram program;
  sim::FaultPlan plan;

  friend bool operator==(const FaultedProgram&, const FaultedProgram&) = default;
};

FaultedProgram generate_faulted(Draw& draw);
std::string to_text(const FaultedProgram& faulted);
std::vector<FaultedProgram> shrinks(const FaultedProgram& faulted);

// Each rank that is left ends with right results or a typed error of a true kind, and those that
// are left can go on together; runs replay; what does not happen changes nothing.
std::vector<Property> faults_are_contained(const Subject& subject = {});

}  // namespace gang::properties
