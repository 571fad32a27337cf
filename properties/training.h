// Training programs equal one process, whatever the model, the world, the layout and the schedule.
#pragma once

#include <functional>
#include <vector>

#include "harness/programs/faulty/faulty_program.h"
#include "harness/run/runner.h"
#include "properties/property.h"

namespace gang::properties {

// What is under test: the real programs and the real runner, unless a test plants others.
struct TrainingSubject {
  std::vector<harness::Program> programs;      // ddp, data_parallel, fsdp, tp, trainer
  std::vector<harness::FaultyProgram> faulty;  // of trainers; may be empty
  std::function<harness::RunResult(const harness::Program&, const harness::RunSpecification&,
                                   const harness::RunRecording&)>
      run;
};
TrainingSubject make_training_subject();

// The programs on another simulated backend; without the wrong ones, whose findings differ there.
TrainingSubject make_training_subject_on(harness::BackendKind backend);

std::vector<Property> training(const TrainingSubject& subject = make_training_subject());

}  // namespace gang::properties
