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
constexpr StepKey all_devices_key = ~splitmix64(device_key, 0);

void use_device(Guide& guide, const Task& task, int device, AccessMode mode, StepKey operation = 0,
                const CallSite& call_site = {}) {
  guide.access({.kind = AccessKind::device,
                .mode = mode,
                .rank = task.rank->rank,
                .object = splitmix64(device_key, static_cast<std::uint64_t>(device)),
                .operation = operation,
                .site = call_site});
}

StepKey way_of_pick(int rank, std::uint64_t pick, std::size_t way) {
  const StepKey of_rank = splitmix64(~device_key, static_cast<std::uint64_t>(rank));
  return splitmix64(splitmix64(of_rank, pick), way);
}

void note_progress(Guide& guide, const Task& task, const NcclKernel& kernel) {
  guide.access({.kind = AccessKind::arrival,
                .mode = AccessMode::arrive,
                .rank = task.rank == nullptr ? -1 : task.rank->rank,
                .object = all_devices_key,
                .operation = kernel.step_key,
                .site = kernel.purpose.call.call_site});
}

}  // namespace

void note_launch(Guide& guide, const Task& task, NcclKernel& kernel) {
  kernel.step_key = guide.posted();
  note_progress(guide, task, kernel);
  const bool is_watched =
      task.rank->has_gang_threads && kernel.gpu->model().order == LaunchOrder::any;
  if (!task.rank->has_threads && !is_watched) return;
  use_device(guide, task, kernel.gpu->rank(), AccessMode::write, kernel.step_key,
             kernel.purpose.call.call_site);
}

void note_try_to_start(Guide& guide, const Task& task, const NcclGpu& gpu) {
  if (task.rank->has_threads || task.rank->has_gang_threads)
    use_device(guide, task, gpu.rank(), AccessMode::write);
  else if (!gpu.ready().empty())
    use_device(guide, task, gpu.rank(), AccessMode::read);
}

void note_start_before_look(Guide& guide, const Task& task, const NcclKernel& kernel) {
  use_device(guide, task, kernel.gpu->rank(), AccessMode::write, kernel.step_key,
             kernel.purpose.call.call_site);
}

Access way_to_start(const NcclKernel& kernel, std::uint64_t pick, std::size_t way) {
  return way_to_start_before_look(kernel, kernel.gpu->rank(), pick, way);
}

Access way_to_start_before_look(const NcclKernel& kernel, int rank, std::uint64_t pick,
                                std::size_t way) {
  return {.kind = AccessKind::device,
          .mode = AccessMode::write,
          .rank = kernel.gpu->rank(),
          .object = way_of_pick(rank, pick, way),
          .operation = kernel.step_key,
          .site = kernel.purpose.call.call_site};
}

Access way_to_look(int rank, const CallSite& call_site, std::uint64_t pick, std::size_t way) {
  return {.kind = AccessKind::look,
          .mode = AccessMode::write,
          .rank = rank,
          .object = way_of_pick(rank, pick, way),
          .site = call_site};
}

void note_start(Guide& guide, const Task& task, const NcclKernel& kernel, StepKey after) {
  // In launch order, they start by themselves.
  if (kernel.gpu->model().order == LaunchOrder::any) note_progress(guide, task, kernel);
  if (after != 0) guide.carry(after, kernel.step_key);
}

void note_look_at_devices(Guide& guide, const Task& task, const CallSite& call_site) {
  guide.access({.kind = AccessKind::look,
                .mode = AccessMode::look,
                .rank = task.rank->rank,
                .object = all_devices_key,
                .site = call_site});
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
