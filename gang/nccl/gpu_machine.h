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

// So many ranks, each a process, on the GPUs of one machine.
struct GpuShare {
  int ranks = 1;
  int gpus = 0;
  bool is_shared = false;  // several ranks may use one GPU (GANGSIM_SHARE_GPUS=1)
};

// Why they do not do; empty where they do.
std::string problem_of(const GpuShare& share);

}  // namespace gang
