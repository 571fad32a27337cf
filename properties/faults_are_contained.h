// Correct programs under faults: nothing hangs, nothing lies.
#pragma once

#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/property.h"
#include "properties/subject.h"
#include "sim/faults/fault_plan.h"

namespace gang::properties {

// A random program and the faults that are drawn for it.
struct FaultedProgram {
  GangProgram program;
  sim::FaultPlan plan;

  friend bool operator==(const FaultedProgram&, const FaultedProgram&) = default;
};

FaultedProgram generate_faulted(Draw& draw);
std::string to_text(const FaultedProgram& faulted);
std::vector<FaultedProgram> shrinks(const FaultedProgram& faulted);

// Each survivor ends with correct results or with an error of a kind that is true, and the
// survivors can go on together; runs replay; faults that do not happen change nothing.
std::vector<Property> faults_are_contained(const Subject& subject = {});

}  // namespace gang::properties
