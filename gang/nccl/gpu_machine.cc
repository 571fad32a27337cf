#include "gang/nccl/gpu_machine.h"

#include <fmt/format.h>

namespace gang {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

// A driver runs every CUDA of its own major version, and older ones.
std::string problem_of(const GpuMachine& machine) {
  const std::string needed = version_text(machine.runtime_version);
  if (machine.driver_version == 0)
    return fmt::format("no CUDA driver on this machine (CUDA {})", needed);
  if (machine.driver_version / 1000 < machine.runtime_version / 1000)
    return fmt::format("the driver is for CUDA {} at most, CUDA {} is needed",
                       version_text(machine.driver_version), needed);
  if (!machine.has_gpu) return "a CUDA driver, but no GPU (no /dev/nvidia0)";
  return {};
}

std::string problem_of(const GpuShare& share) {
  if (share.gpus == 0) return "CUDA finds no GPU that it can use here";
  if (share.ranks <= share.gpus || share.is_shared) return {};
  return fmt::format(
      "{} ranks need a GPU each, and there are {}; accepted are fewer ranks, or "
      "GANGSIM_SHARE_GPUS=1 to let several use one over loopback sockets",
      share.ranks, share.gpus);
}

}  // namespace gang
