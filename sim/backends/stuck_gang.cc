#include "sim/backends/stuck_gang.h"

#include <memory>

#include "sim/engine/engine.h"
#include "sim/state/world.h"
#include "sim/verdict/mismatch.h"

namespace gang::sim {

StuckGang::StuckGang(World& world, const GangInfo& info) : world_(world), gang_(world) {
  gang_.world = nullptr;  // the run does not know it
  gang_.info = {std::shared_ptr<void>(), &info};
}

PendingOperation* StuckGang::add(int member, const Collective& call) {
  Operation& operation = operations_.emplace_back();
  operation.collective = call;
  Task& program = world_.engine.contexts().program_of(gang_.root_rank_of(member));
  return &pendings_.emplace_back(operation, gang_, member, program);
}

Finding StuckGang::mismatch_of(const std::vector<PendingOperation*>& calls) const {
  return explain_mismatch(gang_, calls, {}).finding;
}

}  // namespace gang::sim
