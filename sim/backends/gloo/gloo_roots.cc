#include "sim/backends/gloo/gloo_roots.h"

#include "gang/gloo/gloo_gang.h"
#include "sim/backends/gloo/gloo_explanation.h"
#include "sim/backends/gloo/gloo_network.h"
#include "sim/options/simulation_options.h"
#include "sim/state/world.h"

namespace gang::sim {

class GlooRoots final : public ObservedRoots {
 public:
  explicit GlooRoots(World& world)
      : ObservedRoots(world), network_(std::make_shared<GlooNetwork>(world)) {}

  GlooNetwork& network() noexcept { return *network_; }

  static GlooRoots& of(World& world) { return dynamic_cast<GlooRoots&>(*world.foreign_gangs); }

  void rank_gone(int rank) override { network_->rank_gone(rank); }
  void release_held() override { network_->release_held(); }

  bool report_causes(const BlockedWorld& blocked, VerdictCertainty& certainty,
                     FindingLog& findings) override {
    return explain_gloo_deadlock(world(), blocked, certainty, findings);
  }

 private:
  std::shared_ptr<Gang> make_connected(int rank) override {
    const SimulationOptions& options = world().options;
    return make_gloo_gang({.connector = network_,
                           .runtime = runtime(),
                           .rank = rank,
                           .size = options.world_size,
                           .timeout = options.timeout,
                           .watchdog = options.watchdog ? Watchdog::on : Watchdog::off});
  }
  Strikes& strikes() noexcept override { return network_->strikes(); }

  std::shared_ptr<GlooNetwork> network_;
};

std::unique_ptr<ForeignGangs> make_gloo_roots(World& world) {
  return std::make_unique<GlooRoots>(world);
}

GlooNetwork& gloo_network_of(World& world) { return GlooRoots::of(world).network(); }

}  // namespace gang::sim
