// What training minimizes, and its gradient.
#pragma once

#include "harness/training/layer.h"

namespace gang::harness::training {

// The loss summed over the columns, and its gradient with respect to the outputs.
struct Loss {
  double sum = 0;
  Matrix gradient;
};

// squared_error: `targets` has the shape of `outputs`. cross_entropy: `targets` is a row of labels;
// `outputs` holds this rank's rows of the scores (those of all ranks of tp, in rank order, are the
// whole), and the sum is over all of them. Takes three all_reduces over tp; null is a gang of
// size 1.
Loss loss_of(Objective objective, const Matrix& outputs, const Matrix& targets,
             const std::shared_ptr<Gang>& tp = nullptr);

}  // namespace gang::harness::training
