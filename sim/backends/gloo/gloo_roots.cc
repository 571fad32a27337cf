#include "sim/backends/gloo/gloo_roots.h"

#include <utility>

#include "gang/fake_gang.h"
#include "gang/gloo/gloo_gang.h"
#include "sim/backends/gloo/gloo_network.h"
#include "sim/backends/kept_run.h"
#include "sim/backends/observed_gang.h"
#include "sim/engine/engine.h"

namespace gang::sim {

class GlooRoots final : public RootGangs, public KeptRun {
 public:
  explicit GlooRoots(Engine& engine)
      : KeptRun(engine),
        engine_(engine),
        network_(std::make_shared<GlooNetwork>(engine)),
        gangs_(engine) {}

  GlooNetwork& network() noexcept { return *network_; }

  static GlooRoots& of(SimulatedRank& rank) {
    return dynamic_cast<GlooRoots&>(rank.engine_.root_gangs());
  }

  std::shared_ptr<Gang> make(int rank) override {
    const std::shared_ptr<Gang> gang =
        engine_.rank_state(rank).incarnation == 0 ? make_gloo(rank) : make_refused(rank);
    const Engine::Guard guard(engine_);
    return std::make_shared<ObservedGang>(
        Observation{engine_, gangs_, network_->strikes(), runtime()}, engine_.root_state(), gang);
  }

  void rank_gone(int rank) override { network_->rank_gone(rank); }
  void release_held() override { network_->release_held(); }

 private:
  std::shared_ptr<Gang> make_gloo(int rank) {
    return make_gloo_gang({.connector = network_,
                           .runtime = runtime(),
                           .rank = rank,
                           .size = engine_.options().world_size,
                           .timeout = engine_.options().timeout,
                           .watchdog = engine_.options().watchdog ? Watchdog::on : Watchdog::off});
  }

  // Of a rank that was started again: nobody is connected to it, and nothing gets to this gang.
  std::shared_ptr<Gang> make_refused(int rank) {
    return make_fake_gang({.rank = rank,
                           .size = engine_.options().world_size,
                           .name = "root",
                           .timeout = engine_.options().timeout});
  }

  Engine& engine_;
  std::shared_ptr<GlooNetwork> network_;
  KnownGangs gangs_;
};

std::unique_ptr<RootGangs> make_gloo_roots(Engine& engine) {
  return std::make_unique<GlooRoots>(engine);
}

GlooNetwork& gloo_network_of(SimulatedRank& rank) { return GlooRoots::of(rank).network(); }

}  // namespace gang::sim
