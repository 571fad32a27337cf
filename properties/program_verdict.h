// Judging the run of a gang program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/law.h"
#include "properties/program_run.h"

namespace gang::properties {

// What is wrong with a run that should have completed without findings, in one or two sentences;
// empty if nothing is.
std::string problem_of(const sim::Report& report);

// What is wrong with the findings of a run that should have one, with this id; empty if nothing is.
std::string problem_of(const std::vector<sim::Finding>& findings, std::string_view expected);

// Whether a run of `program` completes without findings and leaves the memory as the reference
// model says.
Verdict judge_against_model(const GangProgram& program, const Subject& subject);

// The same, for a run with these options.
Verdict judge_against_model(const ProgramMemory& memory, const sim::SimulationOptions& options,
                            const Subject& subject);

}  // namespace gang::properties
