#include "sim/counting_gang.h"

#include <utility>

#include "sim/engine.h"

namespace gang::sim {

CountingGang::CountingGang(Engine& engine, std::shared_ptr<Gang> inner)
    : ForwardingGang(std::move(inner)), engine_(engine) {}

void CountingGang::before(const Operation&) {
  const Engine::Guard guard(engine_);
  ++engine_.counts().rank_operations;
}

std::shared_ptr<Gang> CountingGang::wrap(std::shared_ptr<Gang> child) {
  if (child->rank() == 0) {
    const Engine::Guard guard(engine_);
    ++engine_.counts().gangs;
  }
  return std::make_shared<CountingGang>(engine_, std::move(child));
}

}  // namespace gang::sim
