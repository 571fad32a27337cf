// Why a simulated world of NCCL cannot go on.
#pragma once

#include "sim/verdict/blocked_world.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {

class FindingLog;

class SimulatedNccl;

// Adds a finding for each cause among the kernels and hosts that dead contexts wait for:
//   mismatch_...             kernels that meet are of different calls
//   participant_missing      kernels, or hosts, wait for a rank that is gone
//   stream_order_inversion   kernels wait for others that are queued behind kernels, in a cycle
//   device_synchronization   a host waits in such a cycle until its device is idle
//   blocking_launch          a host waits in such a cycle until what it has launched has run
//   one_thread_many_ranks    a host waits for a device of its own, to which it comes later
//   cross_gang_cycle         hosts wait for each other in two or more gangs
//   point_to_point_cycle     in messages of one gang
// None where it knows no better than `deadlock`.
void explain_nccl_deadlock(SimulatedNccl& nccl, const BlockedWorld& blocked,
                           VerdictCertainty& certainty, FindingLog& findings);

}  // namespace gang::sim
