#include "harness/programs/faulty/all_faulty_programs.h"

#include "harness/programs/faulty/faulty_program.h"

namespace gang::harness {

std::vector<FaultyProgram> all_faulty_programs() {
  std::vector<FaultyProgram> all;
  for (const auto& some :
       {missing_participants(), failing_ranks(), mismatched_calls(), mismatched_arguments(),
        group_creation(), gang_order(), messages(), pipelines(), started_work(), lifetimes(),
        rank_contexts(), agreements(), training_layouts(), nccl_devices()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<Program> with_faulty_programs(std::vector<Program> programs) {
  for (const FaultyProgram& faulty : all_faulty_programs()) programs.push_back(to_program(faulty));
  return programs;
}

}  // namespace gang::harness
