// What training makes small, and its gradient.
#pragma once

#include "harness/training/layer.h"

namespace gang::harness::training {

// The sum of the loss over the columns, and its gradient by the outputs.
struct Loss {
  double sum = 0;
  Matrix gradient;
};

// squared_error: `targets` has the shape of `outputs`. cross_entropy: `targets` is a row of labels,
// `outputs` this rank's rows (of all ranks of tp, in rank order) of the scores, and the sum is of
// all of them; three all_reduces over tp, which may be null: a gang of size 1.
Loss loss_of(Objective objective, const Matrix& outputs, const Matrix& targets,
             const std::shared_ptr<Gang>& tp = nullptr);

}  // namespace gang::harness::training
