#include "sim/backends/strikes.h"

#include <utility>

#include "sim/engine/engine.h"
#include "sim/state/pending_operation.h"
#include "sim/state/world.h"

namespace gang::sim {

Strikes::Strikes(World& world, OperationSteps steps)
    : world_(world), steps_(steps), stream_(world.options.seed, "strike") {}

void Strikes::strike_if_due() {
  const auto armed = armed_.find(world_.engine.current().id);
  if (armed == armed_.end() || armed->second.steps_left-- > 0) return;
  const Armed strike = armed->second;
  armed_.erase(armed);
  world_.interference->inside(*strike.pending, {.inside = std::exchange(*strike.fault, nullptr)});
}

ArmedStrike::ArmedStrike(Strikes& strikes, PendingOperation& pending, ArmedFault*& fault)
    : strikes_(strikes) {
  if (fault == nullptr) return;
  const auto size = static_cast<std::uint64_t>(pending.gang->size());
  const std::uint64_t steps = strikes.steps_.always + strikes.steps_.by_member * size;
  task_ = strikes.world_.engine.current().id;
  strikes.armed_[task_] = {&pending, &fault, strikes.stream_.below(steps)};
}

ArmedStrike::~ArmedStrike() {
  if (task_ != no_task) strikes_.armed_.erase(task_);
}

}  // namespace gang::sim
