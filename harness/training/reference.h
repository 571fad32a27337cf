// The same model trained in one process on the whole batch: what every parallel program must equal.
#pragma once

#include <string>

#include "harness/training/batch.h"
#include "harness/training/model.h"
#include "harness/training/objective.h"
#include "harness/training/training_plan.h"

namespace gang::harness::training {

// Trains in one process.
class Reference {
 public:
  explicit Reference(const TrainingPlan& plan);

  // One step on the next whole batch, or on `batch`; returns the loss, summed over its samples.
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

// How far an element may be from the reference's after `steps` steps: 0 for exact numbers, else
// 4 k u / (1 - k u) times the largest element of the parameter (at least 1). Here u = 2^-53, and k
// is the number of roundings that a value meets in one step (the inputs of every layer, once
// forward and twice backward, and the columns of the batch) times the steps. This bounds a sum of k
// terms in any order (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2),
// for models whose layers do not magnify errors.
double bound_of(const TrainingPlan& plan, int steps, double largest);

// Compares this rank's part of every parameter of `mine` with the reference's. Returns one line
// that names the first wrong element and its parameter, and by how much it differs; empty if all
// agree.
std::string difference_of(const Model& mine, Reference& reference);

// The same for the gradients of the last step, which are sums over all ranks.
std::string gradient_difference_of(const Model& mine, Reference& reference);

// The same for a loss.
std::string difference_of(double loss, double expected, const TrainingPlan& plan, int steps);

}  // namespace gang::harness::training
