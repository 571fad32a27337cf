#include "sim/backends/nccl/nccl_roots.h"

#include <utility>

#include "gang/fake_gang.h"
#include "gang/nccl/nccl_gang.h"
#include "sim/backends/kept_run.h"
#include "sim/backends/nccl/nccl_explanation.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/backends/observed_gang.h"
#include "sim/engine/engine.h"

namespace gang::sim {

class NcclRoots final : public RootGangs, public KeptRun {
 public:
  explicit NcclRoots(Engine& engine)
      : KeptRun(engine),
        engine_(engine),
        world_(std::make_shared<SimulatedNccl>(engine)),
        gangs_(engine) {}

  SimulatedNccl& world() noexcept { return *world_; }

  static NcclRoots& of(SimulatedRank& rank) {
    return dynamic_cast<NcclRoots&>(rank.engine_.root_gangs());
  }

  std::shared_ptr<Gang> make(int rank) override {
    const std::shared_ptr<Gang> gang =
        engine_.rank_state(rank).incarnation == 0 ? make_nccl(rank) : make_refused(rank);
    const Engine::Guard guard(engine_);
    return std::make_shared<ObservedGang>(
        Observation{engine_, gangs_, world_->strikes(), runtime()}, engine_.root_state(), gang);
  }

  void rank_died(int rank) override { world_->gpu_of(rank).die(); }
  void rank_gone(int rank) override { world_->tell_of_lost(rank); }
  void release_held() override { world_->release_held(); }

  void report_causes(Engine&, const BlockedWorld& world, VerdictCertainty& certainty) override {
    explain_nccl_deadlock(*world_, world, certainty);
  }

 private:
  std::shared_ptr<Gang> make_nccl(int rank) {
    return make_nccl_gang(
        {.world = {.api = world_->api_of(rank), .meeting = world_, .runtime = runtime()},
         .rank = rank,
         .size = engine_.options().world_size,
         .timeout = engine_.options().timeout,
         .tensors = NcclTensors::on_host});
  }

  // Of a rank that was started again: it is in no communicator, and nothing gets to this gang.
  std::shared_ptr<Gang> make_refused(int rank) {
    return make_fake_gang({.rank = rank,
                           .size = engine_.options().world_size,
                           .name = "root",
                           .timeout = engine_.options().timeout});
  }

  Engine& engine_;
  std::shared_ptr<SimulatedNccl> world_;
  KnownGangs gangs_;
};

std::unique_ptr<RootGangs> make_nccl_roots(Engine& engine) {
  return std::make_unique<NcclRoots>(engine);
}

SimulatedNccl& simulated_nccl_of(SimulatedRank& rank) { return NcclRoots::of(rank).world(); }

}  // namespace gang::sim
