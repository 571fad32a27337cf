#include "sim/backends/nccl/nccl_steps.h"

#include <span>

#include "gang/hash.h"
#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/schedule/guide.h"
#include "sim/state/rank_state.h"
#include "sim/state/task.h"

namespace gang::sim {
namespace {

constexpr StepKey device_key = 0x646576696365;

}  // namespace

void note_launch(Guide& guide, const Task& task, NcclKernel& kernel) {
  kernel.step_key = guide.posted();
  if (!task.rank->has_threads) return;
  guide.access({.kind = AccessKind::device,
                .mode = AccessMode::write,
                .rank = task.rank->rank,
                .object = splitmix64(device_key, static_cast<std::uint64_t>(kernel.gpu->rank())),
                .operation = kernel.step_key,
                .site = kernel.purpose.call.call_site});
}

Access way_to_start(const NcclKernel& kernel, std::uint64_t pick, std::size_t way) {
  const auto rank = static_cast<std::uint64_t>(kernel.gpu->rank());
  const StepKey of_pick = splitmix64(splitmix64(~device_key, rank), pick);
  return {.kind = AccessKind::device,
          .mode = AccessMode::write,
          .rank = kernel.gpu->rank(),
          .object = splitmix64(of_pick, way),
          .operation = kernel.step_key,
          .site = kernel.purpose.call.call_site};
}

void note_start(Guide& guide, const NcclKernel& kernel, StepKey after) {
  if (after != 0) guide.carry(after, kernel.step_key);
}

void note_end(Guide& guide, const std::vector<NcclKernel*>& kernels) {
  if (kernels.size() < 2) return;
  const StepKey all = kernels.front()->step_key;
  for (const NcclKernel* kernel : kernels) guide.carry(kernel->step_key, all);
  for (const NcclKernel* kernel : kernels) guide.carry(all, kernel->step_key);
}

StepKey meeting_key(std::string_view name) noexcept {
  return fnv1a(std::as_bytes(std::span(name)));
}

}  // namespace gang::sim
