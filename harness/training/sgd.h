// Stochastic gradient descent with momentum, over any range of elements.
#pragma once

#include <span>
#include <vector>

#include "harness/training/model.h"

namespace gang::harness::training {

struct SgdOptions {
  double learning_rate = 0.125;
  double momentum = 0;
  double grid = 0;   // weights are rounded to multiples of it; 0: not
  double limit = 0;  // and kept within +-limit; 0: not

  friend bool operator==(const SgdOptions&, const SgdOptions&) = default;
};

// What keeps a model on numbers that are `exact` (initial_values.h), or leaves it real.
SgdOptions sgd_for(Numbers numbers, double momentum = 0);

// One update of elements that stand at the same places. `gradients` are sums over `samples`
// samples; `velocity` is the optimizer's state. Elementwise: a shard is updated as in the whole.
struct SgdUpdate {
  std::span<double> values;
  std::span<const double> gradients;
  std::span<double> velocity;
  double samples = 1;
};
void update(const SgdOptions& options, const SgdUpdate& elements);

// The optimizer of all parameters of a model, which must outlive it.
class Sgd {
 public:
  Sgd(const SgdOptions& options, const Model& model);

  // Updates the values from the gradients, which are sums over `samples` samples.
  void step(double samples);

  // Of each parameter, in order: what a checkpoint saves.
  std::vector<std::vector<double>>& velocities() noexcept { return velocities_; }

 private:
  SgdOptions options_;
  std::vector<ModelParameter*> parameters_;
  std::vector<std::vector<double>> velocities_;
};

}  // namespace gang::harness::training
