// Stochastic gradient descent with momentum, over any range of elements.
#pragma once

#include <span>
#include <vector>

#include "harness/training/model_specification.h"

namespace gang::harness::training {

class Model;
struct ModelParameter;

struct SgdOptions {
  double learning_rate = 0.125;
  double momentum = 0;
  double grid = 0;   // rounds weights to its multiples; 0: no rounding
  double limit = 0;  // keeps weights within +-limit; 0: no limit

  friend bool operator==(const SgdOptions&, const SgdOptions&) = default;
};

// Options that keep a model of exact numbers exact (initial_values.h); others for a real one.
SgdOptions sgd_for(Numbers numbers, double momentum = 0);

// One update, element by element, so a shard gets the values that the whole would. `gradients` are
// sums over `samples` samples; `velocity` is the optimizer's state.
struct SgdUpdate {
  std::span<double> values;
  std::span<const double> gradients;
  std::span<double> velocity;
  double samples = 1;
};
void update(const SgdOptions& options, const SgdUpdate& elements);

// The optimizer of all parameters of a model. The model must outlive it.
class Sgd {
 public:
  Sgd(const SgdOptions& options, const Model& model);

  // Updates the values from the gradients, which are sums over `samples` samples.
  void step(double samples);

  // The state of each parameter, in order.
  const std::vector<std::vector<double>>& velocities() const noexcept { return velocities_; }

 private:
  SgdOptions options_;
  std::vector<ModelParameter*> parameters_;
  std::vector<std::vector<double>> velocities_;
};

}  // namespace gang::harness::training
