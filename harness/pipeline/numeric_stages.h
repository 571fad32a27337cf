// The stages of a rank, with arithmetic.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "harness/pipeline/executor.h"
#include "harness/pipeline/hybrid_plan.h"
#include "harness/training/batch.h"
#include "harness/training/model.h"

namespace gang::harness {

// Forward and backward of the stages of one rank of pp, with gradients summed over microbatches.
class NumericStages final : public StageWork {
 public:
  // `plan` must outlive this. `tp` may have size 1.
  NumericStages(const HybridPlan& plan, int pp_rank, std::shared_ptr<Gang> tp);

  // Begins a step with zero gradients and loss. `batch` has this rank's samples, of all
  // microbatches.
  void begin_step(training::Batch batch);

  StageBoundary boundary_before(int stage) const override;
  void compute(const StagePass& pass, const PassTensors& tensors) override;

  // The loss of this step's samples; 0 on ranks without the last stage.
  double loss() const noexcept { return loss_; }

  // The most activations stored at once so far: one per microbatch and stage.
  int peak_activations() const noexcept { return peak_activations_; }

  // The stages of this rank, ascending.
  const std::vector<int>& stages() const noexcept { return stages_; }
  training::Model& model_of(int stage) { return models_.at(stage); }

 private:
  // What a stage keeps of a microbatch from its forward pass to its last backward pass.
  struct Stored {
    training::Activations activations;
    training::Matrix loss_gradient;  // of the last stage
  };
  using StageMicrobatch = std::pair<int, int>;

  void forward(const StagePass& pass, const PassTensors& tensors);
  void backward(const StagePass& pass, const PassTensors& tensors);
  training::Batch microbatch(int index) const;

  const HybridPlan& plan_;
  std::shared_ptr<Gang> tp_;
  std::vector<int> stages_;
  std::map<int, training::Model> models_;  // by stage
  std::map<StageMicrobatch, Stored> stored_;
  training::Batch batch_;
  double loss_ = 0;
  int peak_activations_ = 0;
};

}  // namespace gang::harness
