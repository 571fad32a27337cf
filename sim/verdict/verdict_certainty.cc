#include "sim/verdict/verdict_certainty.h"

#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Whether `context` is dead because of what `assumption` takes away. `world` is made when needed.
bool is_released_under(const World& world, Moment moment, Assumption assumption,
                       const Task& context, std::unique_ptr<BlockedWorld>& blocked) {
  if (!blocked) blocked = std::make_unique<BlockedWorld>(world, moment, assumption);
  return !blocked->is_dead(context);
}

}  // namespace

VerdictCertainty::VerdictCertainty(const World& world, const BlockedWorld& blocked)
    : world_(world), blocked_(blocked) {}

bool VerdictCertainty::depends_on_sends(const Task& context) {
  if (!blocked_.is_dead(context) || !blocked_.waits_for_sends()) return false;
  return is_released_under(world_, blocked_.moment(), Assumption::sends_complete, context,
                           with_complete_sends_);
}

bool VerdictCertainty::depends_on_streams(const Task& context) {
  if (world_.options.execution != ExecutionModel::stream_ordered) return false;
  if (!blocked_.is_dead(context)) return false;
  return is_released_under(world_, blocked_.moment(), Assumption::no_streams, context,
                           without_streams_);
}

Certainty VerdictCertainty::of(const Task& context) {
  Certainty certainty{.schedules = world_.engine.choices().schedules()};
  if (depends_on_streams(context)) certainty.streams = Dependence::open;
  if (depends_on_sends(context)) {
    certainty.sends = Dependence::open;
    certainty.buffered_bytes = world_.options.sends.buffered_bytes;
  }
  return certainty;
}

}  // namespace gang::sim
