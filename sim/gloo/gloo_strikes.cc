#include "sim/gloo/gloo_strikes.h"

#include <utility>

#include "sim/engine.h"
#include "sim/pending_operation.h"

namespace gang::sim {

GlooStrikes::GlooStrikes(Engine& engine)
    : engine_(engine), stream_(engine.options().seed, "gloo strike") {}

void GlooStrikes::strike_if_due() {
  const auto armed = armed_.find(engine_.current().id);
  if (armed == armed_.end() || armed->second.messages_left-- > 0) return;
  const Armed strike = armed->second;
  armed_.erase(armed);
  engine_.faults()->inside(*strike.pending, {.inside = std::exchange(*strike.fault, nullptr)});
}

ArmedStrike::ArmedStrike(GlooStrikes& strikes, PendingOperation& pending, ArmedFault*& fault)
    : strikes_(strikes) {
  if (fault == nullptr) return;
  // A ring takes about four messages of a rank for each other one.
  const std::uint64_t most = 4 * static_cast<std::uint64_t>(pending.gang->size());
  task_ = strikes.engine_.current().id;
  strikes.armed_[task_] = {&pending, &fault, strikes.stream_.below(most)};
}

ArmedStrike::~ArmedStrike() {
  if (task_ != no_task) strikes_.armed_.erase(task_);
}

}  // namespace gang::sim
