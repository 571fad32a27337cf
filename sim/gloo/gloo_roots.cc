#include "sim/gloo/gloo_roots.h"

#include <utility>

#include "gang/forwarding_gang.h"
#include "gang/gloo/gloo_gang.h"
#include "sim/engine.h"
#include "sim/gloo/gloo_network.h"

namespace gang::sim {

// Counts what is called, as the simulator's own gangs do.
class CountingGang final : public ForwardingGang {
 public:
  CountingGang(Engine& engine, std::shared_ptr<Gang> inner)
      : ForwardingGang(std::move(inner)), engine_(engine) {}

 protected:
  void before(const Operation&) override {
    const Engine::Guard guard(engine_);
    ++engine_.counts().rank_operations;
  }
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<CountingGang>(engine_, std::move(child));
  }

 private:
  Engine& engine_;
};

class GlooRoots final : public RootGangs {
 public:
  explicit GlooRoots(Engine& engine)
      : engine_(engine), network_(std::make_shared<GlooNetwork>(engine)) {}

  GlooNetwork& network() noexcept { return *network_; }

  static GlooRoots& of(SimulatedRank& rank) {
    return dynamic_cast<GlooRoots&>(rank.engine_.root_gangs());
  }

  std::shared_ptr<Gang> make(int rank) override {
    // The engine's, which outlives every gang of its ranks.
    const std::shared_ptr<Runtime> runtime(std::shared_ptr<void>(), &engine_.runtime());
    return std::make_shared<CountingGang>(engine_,
                                          make_gloo_gang({.connector = network_,
                                                          .runtime = runtime,
                                                          .rank = rank,
                                                          .size = engine_.options().world_size,
                                                          .timeout = engine_.options().timeout}));
  }

 private:
  Engine& engine_;
  std::shared_ptr<GlooNetwork> network_;
};

std::unique_ptr<RootGangs> make_gloo_roots(Engine& engine) {
  return std::make_unique<GlooRoots>(engine);
}

GlooNetwork& gloo_network_of(SimulatedRank& rank) { return GlooRoots::of(rank).network(); }

}  // namespace gang::sim
