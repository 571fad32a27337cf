#include "sim/verdict/verdict_certainty.h"

#include <fmt/format.h>

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

std::string send_condition(SendMode sends) {
  return sends.buffered_bytes ? fmt::format("with {} bytes of buffer", *sends.buffered_bytes)
                              : std::string("with rendezvous sends");
}

std::string certainty_text(Schedules schedules, std::string_view conditions) {
  const bool is_every = schedules == Schedules::every;
  return fmt::format("{}{}{}: {}", is_every ? "in every schedule" : "seen in this schedule",
                     conditions.empty() ? "" : " ", conditions,
                     is_every ? "no choice point was passed" : "others may avoid it");
}

VerdictCertainty::VerdictCertainty(const World& world, const BlockedWorld& blocked)
    : world_(world), blocked_(blocked) {}

bool VerdictCertainty::depends_on_sends(const Task& context) {
  if (!blocked_.is_dead(context)) return false;
  return is_released_under(world_, blocked_.moment(), Assumption::sends_complete, context,
                           with_complete_sends_);
}

bool VerdictCertainty::depends_on_streams(const Task& context) {
  if (world_.options.execution != ExecutionModel::stream_ordered) return false;
  if (!blocked_.is_dead(context)) return false;
  return is_released_under(world_, blocked_.moment(), Assumption::no_streams, context,
                           without_streams_);
}

std::string VerdictCertainty::of(const Task& context) {
  std::string conditions;
  if (depends_on_streams(context)) conditions = stream_condition;
  if (depends_on_sends(context)) {
    if (!conditions.empty()) conditions += ' ';
    conditions += send_condition(world_.options.sends);
  }
  return certainty_text(world_.engine.choices().schedules(), conditions);
}

}  // namespace gang::sim
