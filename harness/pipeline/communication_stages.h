// The stages of a rank without arithmetic: only what they communicate.
#pragma once

#include <memory>
#include <vector>

#include "harness/pipeline/executor.h"
#include "harness/pipeline/hybrid_plan.h"

namespace gang::harness {

// Makes the calls on tp that NumericStages would make, with zeros of the same types and sizes;
// messages hold arbitrary data. A rank needs a few KiB more than its messages.
class CommunicationStages final : public StageWork {
 public:
  // `plan` must outlive this.
  CommunicationStages(const HybridPlan& plan, int pp_rank, std::shared_ptr<Gang> tp);

  StageBoundary boundary_before(int stage) const override;
  void compute(const StagePass& pass, const PassTensors& tensors) override;

 private:
  struct StageCalls {
    std::vector<TensorParallelCall> forward;
    std::vector<TensorParallelCall> backward;
  };

  void reduce(const std::vector<TensorParallelCall>& calls);
  void reduce_loss();

  const HybridPlan& plan_;
  std::shared_ptr<Gang> tp_;
  std::vector<StageCalls> calls_;  // of this rank's stages, ascending
  std::vector<double> zeros_;
};

}  // namespace gang::harness
