// Random gang programs on a Gang.
#pragma once

#include <memory>

#include "properties/program_memory.h"
#include "properties/subject.h"

namespace gang::properties {

// Runs one rank of a program: makes its gangs from `root`, performs the steps on `image`, waits for
// what it has started. Throws what the gangs throw.
void run_rank(const ProgramMemory& memory, const std::shared_ptr<Gang>& root,
              const Subject& subject, Image& image);

// Performs one step of the program on `gang`, to its end.
void run_step(const ProgramMemory& memory, std::size_t step, int root_rank, Gang& gang,
              const Subject& subject, Image& image);

// This rank's gang at every node; null if it is in none.
std::vector<std::shared_ptr<Gang>> make_gangs(const GangProgram& program,
                                              const std::shared_ptr<Gang>& root,
                                              const Subject& subject);

// A program's run on simulated ranks.
struct ProgramRun {
  sim::Report report;
  Image image;  // after it
};
ProgramRun run_program(const ProgramMemory& memory, const sim::SimulationOptions& options,
                       const Subject& subject);

}  // namespace gang::properties
