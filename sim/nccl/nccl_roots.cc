#include "sim/nccl/nccl_roots.h"

#include <utility>

#include "gang/nccl/nccl_gang.h"
#include "sim/counting_gang.h"
#include "sim/engine.h"
#include "sim/kept_run.h"
#include "sim/nccl/nccl_explanation.h"
#include "sim/nccl/simulated_nccl.h"

namespace gang::sim {

class NcclRoots final : public RootGangs, public KeptRun {
 public:
  explicit NcclRoots(Engine& engine)
      : KeptRun(engine), engine_(engine), world_(std::make_shared<SimulatedNccl>(engine)) {}

  SimulatedNccl& world() noexcept { return *world_; }

  static NcclRoots& of(SimulatedRank& rank) {
    return dynamic_cast<NcclRoots&>(rank.engine_.root_gangs());
  }

  std::shared_ptr<Gang> make(int rank) override {
    return std::make_shared<CountingGang>(
        engine_, runtime(),
        make_nccl_gang(
            {.world = {.api = world_->api_of(rank), .meeting = world_, .runtime = runtime()},
             .rank = rank,
             .size = engine_.options().world_size,
             .timeout = engine_.options().timeout,
             .tensors = NcclTensors::on_host}));
  }

  void report_causes(Engine&, const BlockedWorld& world, VerdictCertainty& certainty) override {
    explain_nccl_deadlock(*world_, world, certainty);
  }

 private:
  Engine& engine_;
  std::shared_ptr<SimulatedNccl> world_;
};

std::unique_ptr<RootGangs> make_nccl_roots(Engine& engine) {
  return std::make_unique<NcclRoots>(engine);
}

SimulatedNccl& simulated_nccl_of(SimulatedRank& rank) { return NcclRoots::of(rank).world(); }

}  // namespace gang::sim
