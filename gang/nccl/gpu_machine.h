// What a machine must have for NCCL to run on it.
#pragma once

#include <string>

namespace gang {

// As CUDA counts: 13000 is CUDA 13.0.
struct GpuMachine {
  int driver_version = 0;  // the newest CUDA that the driver knows; 0: there is no driver
  int runtime_version = 0;
  bool has_gpu = false;
};

// What is missing, with what was found and what is needed; empty where nothing is.
std::string problem_of(const GpuMachine& machine);

}  // namespace gang
