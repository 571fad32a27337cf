// The same model trained in one process on the whole batch: what every parallel program must equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/training/batch.h"
#include "harness/training/objective.h"
#include "harness/training/sgd.h"

namespace gang::harness::training {

// A training run, whoever performs it.
struct TrainingPlan {
  ModelSpecification model;
  SgdOptions sgd;
  std::uint64_t seed = 1;    // of initial values and data
  Eigen::Index samples = 1;  // of a whole batch

  Batch batch(int step) const { return make_batch(model, seed, step, samples); }
  Batch part(int step, int part, int parts) const {
    return make_batch(model, seed, step, part_of(samples, part, parts));
  }
};

// Trains in one process.
class Reference {
 public:
  explicit Reference(const TrainingPlan& plan);

  // One step on the whole next batch, or on `batch`; gives the sum of the loss over its samples.
  double step();
  double step(const Batch& batch);

  Model& model() noexcept { return model_; }
  const TrainingPlan& plan() const noexcept { return plan_; }
  int steps() const noexcept { return steps_; }

 private:
  TrainingPlan plan_;
  Model model_;
  Sgd sgd_;
  int steps_ = 0;
};

// How far an element may be from the reference's after `steps` steps: 0 where numbers are exact,
// else 4 k u / (1 - k u) times the largest element of the parameter (at least 1), with u = 2^-53
// and k the roundings on the way of a value through one step (the inputs of every layer, forward
// and twice backward, and the columns of the batch), times the steps: the bound of a sum of k terms
// in any order (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2), for
// models whose layers do not magnify errors.
double bound_of(const TrainingPlan& plan, int steps, double largest);

// Compares this rank's part of every parameter of `mine` with the reference's. An empty text, or
// one line: which element of which parameter is wrong, and by how much.
std::string difference_of(const Model& mine, Reference& reference);

// The same of the gradients of the last step, which are sums over all ranks.
std::string gradient_difference_of(const Model& mine, Reference& reference);

// The same of a loss.
std::string difference_of(double loss, double expected, const TrainingPlan& plan, int steps);

}  // namespace gang::harness::training
