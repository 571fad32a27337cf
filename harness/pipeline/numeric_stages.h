// The stages of a rank, with their arithmetic.
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
  // `plan` outlives this. `tp` may be of size 1.
  NumericStages(const HybridPlan& plan, int pp_rank, std::shared_ptr<Gang> tp);

  // Begins a step: gradients and loss are zero again. `batch`: this rank's samples, all of its
  // microbatches.
  void begin_step(training::Batch batch);

  StageBoundary boundary_before(int stage) const override;
  void compute(const StagePass& pass, const PassTensors& tensors) override;

  // Of the samples of this step; 0 on ranks without the last stage.
  double loss() const noexcept { return loss_; }

  // The most activations stored at a time so far: one for each microbatch and stage.
  int peak_activations() const noexcept { return peak_activations_; }

  // Of this rank, ascending.
  const std::vector<int>& stages() const noexcept { return stages_; }
  training::Model& model_of(int stage) { return models_.at(stage); }

 private:
  // What is kept of a microbatch on a stage, from its forward pass to its last backward pass.
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
