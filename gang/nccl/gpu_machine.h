// What a machine needs for NCCL to run on it.
#pragma once

#include <string>

namespace gang {

// Versions as CUDA counts them: 13000 is CUDA 13.0.
struct GpuMachine {
  int driver_version = 0;  // the newest CUDA that the driver supports; 0 without a driver
  int runtime_version = 0;
  bool has_gpu = false;
};

// What is missing, what was found and what is needed; empty if nothing is missing.
std::string problem_of(const GpuMachine& machine);

// Ranks, each a process, on the GPUs of one machine.
struct GpuShare {
  int ranks = 1;
  int gpus = 0;
  bool is_shared = false;  // several ranks may use one GPU (GANGSIM_SHARE_GPUS=1)
};

// Why the GPUs do not suffice; empty if they do.
std::string problem_of(const GpuShare& share);

}  // namespace gang
