#include "sim/backends/nccl/nccl_roots.h"

#include <utility>

#include "gang/fake_gang.h"
#include "gang/nccl/nccl_gang.h"
#include "sim/backends/nccl/nccl_explanation.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/backends/observed_gang.h"
#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {

class NcclRoots final : public ForeignGangs {
 public:
  explicit NcclRoots(World& world)
      : ForeignGangs(world),
        world_(world),
        nccl_(std::make_shared<SimulatedNccl>(world)),
        gangs_(world) {}

  SimulatedNccl& nccl() noexcept { return *nccl_; }

  static NcclRoots& of(World& world) { return dynamic_cast<NcclRoots&>(*world.foreign_gangs); }

  std::shared_ptr<Gang> make(int rank) override {
    const std::shared_ptr<Gang> gang =
        world_.rank(rank).incarnation == 0 ? make_nccl(rank) : make_refused(rank);
    const Engine::Guard guard(world_.engine);
    return std::make_shared<ObservedGang>(Observation{world_, gangs_, nccl_->strikes(), runtime()},
                                          world_.root, gang);
  }

  void rank_died(int rank) override { nccl_->gpu_of(rank).die(); }
  void rank_gone(int rank) override { nccl_->tell_of_lost(rank); }
  void release_held() override { nccl_->release_held(); }

  void report_causes(const BlockedWorld& blocked, VerdictCertainty& certainty,
                     FindingLog& findings) override {
    explain_nccl_deadlock(*nccl_, blocked, certainty, findings);
  }

 private:
  std::shared_ptr<Gang> make_nccl(int rank) {
    return make_nccl_gang(
        {.world = {.api = nccl_->api_of(rank), .meeting = nccl_, .runtime = runtime()},
         .rank = rank,
         .size = world_.options.world_size,
         .timeout = world_.options.timeout,
         .tensors = NcclTensors::on_host});
  }

  // The gang of a restarted rank. It has no communicator, and no call reaches it.
  std::shared_ptr<Gang> make_refused(int rank) {
    return make_fake_gang({.rank = rank,
                           .size = world_.options.world_size,
                           .name = "root",
                           .timeout = world_.options.timeout});
  }

  World& world_;
  std::shared_ptr<SimulatedNccl> nccl_;
  ObservedGangs gangs_;
};

std::unique_ptr<ForeignGangs> make_nccl_roots(World& world) {
  return std::make_unique<NcclRoots>(world);
}

SimulatedNccl& simulated_nccl_of(World& world) { return NcclRoots::of(world).nccl(); }

}  // namespace gang::sim
