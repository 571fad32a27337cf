#include "sim/counting_gang.h"

#include <utility>

#include "sim/engine.h"
#include "sim/kept_run.h"

namespace gang::sim {

CountingGang::CountingGang(Engine& engine, std::shared_ptr<Runtime> runtime,
                           std::shared_ptr<Gang> inner)
    : ForwardingGang(std::move(inner)), engine_(engine), runtime_(std::move(runtime)) {}

std::shared_ptr<Gang> CountingGang::do_shrink(const ShrinkOptions& options,
                                              const CallSite& call_site) {
  require_running(engine_, name());
  return ForwardingGang::do_shrink(options, call_site);
}

void CountingGang::before(const Operation&) {
  require_running(engine_, name());
  const Engine::Guard guard(engine_);
  ++engine_.counts().rank_operations;
}

std::shared_ptr<Gang> CountingGang::wrap(std::shared_ptr<Gang> child) {
  if (child->rank() == 0) {
    const Engine::Guard guard(engine_);
    ++engine_.counts().gangs;
  }
  return std::make_shared<CountingGang>(engine_, runtime_, std::move(child));
}

void CountingGang::do_abort() {
  require_running(engine_, name());
  ForwardingGang::do_abort();
}

}  // namespace gang::sim
