#include "sim/backends/gloo/gloo_roots.h"

#include <utility>

#include "gang/fake_gang.h"
#include "gang/gloo/gloo_gang.h"
#include "sim/backends/gloo/gloo_network.h"
#include "sim/backends/observed_gang.h"
#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {

class GlooRoots final : public ForeignGangs {
 public:
  explicit GlooRoots(World& world)
      : ForeignGangs(world),
        world_(world),
        network_(std::make_shared<GlooNetwork>(world)),
        gangs_(world) {}

  GlooNetwork& network() noexcept { return *network_; }

  static GlooRoots& of(World& world) { return dynamic_cast<GlooRoots&>(*world.foreign_gangs); }

  std::shared_ptr<Gang> make(int rank) override {
    const std::shared_ptr<Gang> gang =
        world_.rank(rank).incarnation == 0 ? make_gloo(rank) : make_refused(rank);
    const Engine::Guard guard(world_.engine);
    return std::make_shared<ObservedGang>(
        Observation{world_, gangs_, network_->strikes(), runtime()}, world_.root, gang);
  }

  void rank_gone(int rank) override { network_->rank_gone(rank); }
  void release_held() override { network_->release_held(); }

 private:
  std::shared_ptr<Gang> make_gloo(int rank) {
    return make_gloo_gang({.connector = network_,
                           .runtime = runtime(),
                           .rank = rank,
                           .size = world_.options.world_size,
                           .timeout = world_.options.timeout,
                           .watchdog = world_.options.watchdog ? Watchdog::on : Watchdog::off});
  }

  // The gang of a restarted rank. No peer is connected to it, and no call reaches it.
  std::shared_ptr<Gang> make_refused(int rank) {
    return make_fake_gang({.rank = rank,
                           .size = world_.options.world_size,
                           .name = "root",
                           .timeout = world_.options.timeout});
  }

  World& world_;
  std::shared_ptr<GlooNetwork> network_;
  ObservedGangs gangs_;
};

std::unique_ptr<ForeignGangs> make_gloo_roots(World& world) {
  return std::make_unique<GlooRoots>(world);
}

GlooNetwork& gloo_network_of(World& world) { return GlooRoots::of(world).network(); }

}  // namespace gang::sim
