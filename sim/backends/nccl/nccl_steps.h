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
struct Task;

// `task` launches the kernel, which gets its key. Launches of several contexts of a rank do not
// commute: a device starts kernels in their order.
void note_launch(Guide& guide, const Task& task, NcclKernel& kernel);

// One way of the pick `pick` of a device, counted from 1: that it starts the kernel, the `way`-th.
Access way_to_start(const NcclKernel& kernel, std::uint64_t pick, std::size_t way);

// A device starts the kernel after another one has ended there (0: after none).
void note_start(Guide& guide, const NcclKernel& kernel, StepKey after);

// The kernels end together: who waits for one of them comes after the launches of all.
void note_end(Guide& guide, const std::vector<NcclKernel*>& kernels);

// What hosts meet at, called `name`.
StepKey meeting_key(std::string_view name) noexcept;

}  // namespace gang::sim
