// All programs with a planted bug.
#pragma once

#include <vector>

namespace gang::harness {

struct FaultyProgram;
struct Program;

// Grouped by what is wrong with them; each group is defined in the file of its name.
std::vector<FaultyProgram> agreements();
std::vector<FaultyProgram> failing_ranks();
std::vector<FaultyProgram> gang_order();
std::vector<FaultyProgram> group_creation();
std::vector<FaultyProgram> lifetimes();
std::vector<FaultyProgram> messages();
std::vector<FaultyProgram> mismatched_arguments();
std::vector<FaultyProgram> mismatched_calls();
std::vector<FaultyProgram> missing_participants();
std::vector<FaultyProgram> pipelines();
std::vector<FaultyProgram> rank_contexts();
std::vector<FaultyProgram> nccl_devices();
std::vector<FaultyProgram> started_work();
std::vector<FaultyProgram> training_layouts();

// All of the above.
std::vector<FaultyProgram> all_faulty_programs();

// `programs`, followed by the faulty ones.
std::vector<Program> with_faulty_programs(std::vector<Program> programs);

}  // namespace gang::harness
