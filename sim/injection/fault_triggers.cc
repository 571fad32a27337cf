#include <algorithm>
#include <limits>

#include "sim/engine/engine.h"
#include "sim/injection/corruption.h"
#include "sim/injection/fault_record.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

bool fits(World& world, const ArmedFault& fault, const GangState& gang, const Collective& call) {
  const FaultTrigger& trigger = fault.fault->trigger;
  if (!trigger.while_rank) {
    if (trigger.during && *trigger.during != call.kind) return false;
    return trigger.gang.empty() || trigger.gang == gang.info->name;
  }
  const Wait* wait = world.engine.contexts().program_of(*trigger.while_rank).wait;
  if (wait == nullptr) return false;
  if (wait->message() != nullptr && wait->message()->call() != nullptr) {
    if (trigger.during && *trigger.during != wait->message()->call()->kind) return false;
    return trigger.gang.empty() || trigger.gang == wait->message()->gang()->name;
  }
  if (wait->operations().empty()) return false;
  const PendingOperation& pending = *wait->operations().front();
  if (trigger.during && *trigger.during != pending.call().kind) return false;
  return trigger.gang.empty() || trigger.gang == pending.gang->info->name;
}

}  // namespace

bool happens_by_itself(const Fault& fault) {
  if (!fault.trigger.time || fault.kind == FaultKind::exception) return false;
  return ends_rank(fault.kind) || (fault.kind == FaultKind::stall && !fault.lasts);
}

bool is_due(World& world, FaultRecord& record, ArmedFault& fault, const GangState& gang,
            const Operation& operation) {
  const FaultTrigger& trigger = fault.fault->trigger;
  const FaultKind kind = fault.fault->kind;
  if (fault.is_spent || kind == FaultKind::late_start) return false;
  if (kind == FaultKind::slow && fault.has_fired) return true;
  // NCCL kernels read contributions whenever they run, so every read is late.
  if (kind == FaultKind::late_copy && world.options.backend == SimulatedBackend::nccl) return false;
  if (trigger.time) return world.engine.now() >= trigger.time->least;
  if (!fits(world, fault, gang, operation.collective)) return false;
  const auto& members = gang.info->root_ranks;
  if (is_of_data(kind)) {
    const auto member = static_cast<int>(std::ranges::find(members, fault.rank) - members.begin());
    if (!has_such_data(kind, operation, member)) return false;
  }
  return record.is_picked(fault);
}

std::uint64_t quiet_calls_of(std::span<const ArmedFault> armed) noexcept {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const ArmedFault& fault : armed) {
    if (fault.is_spent || fault.fault->kind == FaultKind::late_start) continue;
    const FaultTrigger& trigger = fault.fault->trigger;
    const bool counts_every_call = trigger.operation && !trigger.time && !trigger.during &&
                                   !trigger.while_rank && trigger.gang.empty() &&
                                   !is_of_data(fault.fault->kind) && !fault.has_fired;
    if (!counts_every_call) return 0;
    if (trigger.operation->least >= fault.seen)
      least = std::min(least, trigger.operation->least - fault.seen);
  }
  return least;
}

}  // namespace gang::sim
