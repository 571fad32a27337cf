#include "sim/further_runs/buffered_sends.h"

#include <algorithm>

namespace gang::sim {
namespace {

// Whether its effect is the same however far others are.
bool is_of_fixed_peers(const Access& access) noexcept {
  switch (access.kind) {
    case AccessKind::message:
    case AccessKind::arrival:
      return true;
    case AccessKind::call:
      return access.mode == AccessMode::read;  // a batch; a write breaks the gang
    default:
      return false;
  }
}

}  // namespace

bool holds_with_buffered_sends(const SimulationOptions& options, const Report& report,
                               const StepLog& log) noexcept {
  const bool has_rendezvous =
      options.backend == SimulatedBackend::sim && options.sends == SendMode::rendezvous();
  return has_rendezvous && options.faults == nullptr && report.holds() &&
         report.virtual_time == Duration::zero() && !report.unguided && !log.is_incomplete &&
         log.knowledge.any_receives.empty() &&
         log.contexts.size() == static_cast<std::size_t>(options.world_size) &&
         std::ranges::find(log.accesses, AccessKind::message, &Access::kind) !=
             log.accesses.end() &&
         std::ranges::all_of(log.accesses, is_of_fixed_peers);
}

}  // namespace gang::sim
