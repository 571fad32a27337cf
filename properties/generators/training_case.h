// Random training runs: a program, its parameters, a world, a schedule.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "properties/law.h"

namespace gang::properties {

// A run of one of the training programs of harness/programs, which accepts it.
struct TrainingCase {
  std::shared_ptr<const harness::Program> program;
  int world = 1;
  std::map<std::string, std::string> parameters;
  std::uint64_t seed = 0;  // of a random schedule; 0: round robin
  sim::ExecutionModel execution = sim::ExecutionModel::independent;
  sim::ContextKind context = sim::ContextKind::fiber;

  harness::RunSpecification specification() const;
  int parameter(const std::string& name, int otherwise) const;
};

// One of `programs`, by name: "ddp", "data_parallel", "fsdp", "tp", "trainer".
TrainingCase generate_training(Draw& draw, const std::vector<harness::Program>& programs);

std::string to_text(const TrainingCase& one);
std::vector<TrainingCase> shrinks(const TrainingCase& one);

}  // namespace gang::properties
