#include "sim/gloo/gloo_roots.h"

#include <utility>

#include "gang/gloo/gloo_gang.h"
#include "sim/engine.h"
#include "sim/gloo/gloo_network.h"

namespace gang::sim {

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
    return make_gloo_gang({.connector = network_,
                           .runtime = runtime,
                           .rank = rank,
                           .size = engine_.options().world_size,
                           .timeout = engine_.options().timeout});
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
