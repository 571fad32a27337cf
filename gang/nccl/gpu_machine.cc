#include "gang/nccl/gpu_machine.h"

#include <fmt/format.h>

namespace gang {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

// A driver runs every CUDA version of its own major version, and older ones.
std::string problem_of(const GpuMachine& machine) {
  const std::string needed = version_text(machine.runtime_version);
  if (machine.driver_version == 0)
    return fmt::format("no CUDA driver on this machine (for CUDA {})", needed);
  if (machine.driver_version / 1000 < machine.runtime_version / 1000)
    return fmt::format("the driver supports CUDA {} at most; CUDA {} is needed",
                       version_text(machine.driver_version), needed);
  if (!machine.has_gpu) return "there is a CUDA driver, but no GPU (no /dev/nvidia0)";
  return {};
}

std::string problem_of(const GpuShare& share) {
  if (share.gpus == 0) return "CUDA finds no usable GPU here";
  if (share.ranks <= share.gpus || share.is_shared) return {};
  return fmt::format(
      "{} ranks need a GPU each, but there are {}; use fewer ranks, or set GANGSIM_SHARE_GPUS=1 to "
      "let several ranks share a GPU over loopback sockets",
      share.ranks, share.gpus);
}

}  // namespace gang
