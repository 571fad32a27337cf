// Explains deadlocks of a simulated NCCL world.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

class FindingLog;

class SimulatedNccl;

// Adds a finding for each cause among the kernels and hosts for which dead contexts wait:
//   mismatch_...             matched kernels stem from different calls
//   participant_missing      kernels, or hosts, wait for a rank that is gone
//   stream_order_inversion   kernels wait for others that are queued behind kernels, in a cycle
//   device_synchronization   a host waits in such a cycle for its device to become idle
//   blocking_launch          a host waits in such a cycle for its own launch to finish
//   one_thread_many_ranks    a host waits for another of its own devices, which it drives later
//   cross_gang_cycle         hosts wait for each other in two or more gangs
//   point_to_point_cycle     in messages of one gang
// A rank that is gone because of a failure that has a finding adds consequences to that one
// instead. Returns whether it has a better explanation than `deadlock`.
bool explain_nccl_deadlock(SimulatedNccl& nccl, const BlockedWorld& blocked,
                           VerdictCertainty& certainty, FindingLog& findings);

}  // namespace gang::sim
