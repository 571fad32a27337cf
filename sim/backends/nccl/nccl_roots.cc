#include "sim/backends/nccl/nccl_roots.h"

#include "gang/nccl/nccl_gang.h"
#include "sim/backends/nccl/nccl_explanation.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/state/world.h"

namespace gang::sim {

class NcclRoots final : public ObservedRoots {
 public:
  explicit NcclRoots(World& world)
      : ObservedRoots(world), nccl_(std::make_shared<SimulatedNccl>(world)) {}

  SimulatedNccl& nccl() noexcept { return *nccl_; }

  static NcclRoots& of(World& world) { return dynamic_cast<NcclRoots&>(*world.foreign_gangs); }

  void rank_died(int rank) override { nccl_->gpu_of(rank).die(); }
  void rank_gone(int rank) override { nccl_->tell_of_lost(rank); }
  void release_held() override { nccl_->release_held(); }
  bool go_on() override { return nccl_->go_on(); }

  bool report_causes(const BlockedWorld& blocked, VerdictCertainty& certainty,
                     FindingLog& findings) override {
    return explain_nccl_deadlock(*nccl_, blocked, certainty, findings);
  }

 private:
  std::shared_ptr<Gang> make_connected(int rank) override {
    return make_nccl_gang(
        {.world = {.api = nccl_->api_of(rank), .meeting = nccl_, .runtime = runtime()},
         .rank = rank,
         .size = world().options.world_size,
         .timeout = world().options.timeout,
         .tensors = NcclTensors::on_host});
  }
  Strikes& strikes() noexcept override { return nccl_->strikes(); }

  std::shared_ptr<SimulatedNccl> nccl_;
};

std::unique_ptr<ForeignGangs> make_nccl_roots(World& world) {
  return std::make_unique<NcclRoots>(world);
}

SimulatedNccl& simulated_nccl_of(World& world) { return NcclRoots::of(world).nccl(); }

}  // namespace gang::sim
