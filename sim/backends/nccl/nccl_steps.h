// Tells a Guide what contexts do to each other through simulated devices. Called only where there
// is one, under the engine's Guard.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/schedule/step_log.h"

namespace gang::sim {

class Guide;
struct NcclKernel;
class NcclGpu;
struct Task;

// `task` launches the kernel, which gets its key. Launches of several contexts of a rank do not
// commute: a device starts kernels in their order.
void note_launch(Guide& guide, const Task& task, NcclKernel& kernel);

// `task`, of the device's own rank, lets it start what is ready, or what a pick among several says.
// Other contexts of the rank change that by their launches, and by starting it themselves.
void note_try_to_start(Guide& guide, const Task& task, const NcclGpu& gpu);

// `task` has found that a device has started the kernel by itself, before it looks.
void note_start_before_look(Guide& guide, const Task& task, const NcclKernel& kernel);

// One way of the pick `pick` of a device, counted from 1: that it starts the kernel, the `way`-th.
Access way_to_start(const NcclKernel& kernel, std::uint64_t pick, std::size_t way);

// The same of a pick by the host of `rank`, which looks how far devices are.
Access way_to_start_before_look(const NcclKernel& kernel, int rank, std::uint64_t pick,
                                std::size_t way);

// One way of a pick of the host of `rank`: that it looks at what was launched at `call_site`, and
// no further kernel has started.
Access way_to_look(int rank, const CallSite& call_site, std::uint64_t pick, std::size_t way);

// `task` lets a device start the kernel after another one has ended there (0: after none).
void note_start(Guide& guide, const Task& task, const NcclKernel& kernel, StepKey after);

// `task` looks how far its device is with what was launched at `call_site`. That may depend on all
// that is launched and started on devices.
void note_look_at_devices(Guide& guide, const Task& task, const CallSite& call_site);

// The kernels end together: who waits for one of them comes after the launches of all.
void note_end(Guide& guide, const std::vector<NcclKernel*>& kernels);

// What hosts meet at, called `name`.
StepKey meeting_key(std::string_view name) noexcept;

}  // namespace gang::sim
