// Training data that every rank can make for itself.
#pragma once

#include <cstdint>

#include "harness/training/layer.h"

namespace gang::harness::training {

// Samples, `sequence` columns each.
struct Batch {
  Matrix inputs;
  Matrix targets;
  Eigen::Index sequence = 1;

  Eigen::Index samples() const noexcept { return inputs.cols() / sequence; }

  // Samples [first, first + count), which must be within.
  Batch slice(Eigen::Index first, Eigen::Index count) const;
};

// Batch number `step` of a model's data: a function of the model, the seed, the step and the
// number of each sample, so that ranks that make parts of it agree. Exact numbers: small integers;
// real: uniform in [-1, 1); of a language model: a row of tokens and the row of those that follow.
Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 Eigen::Index samples);

// The part of rank `part` of `parts`: consecutive samples, those of lower ranks first, the first
// ranks having one more where they do not divide.
Batch part_of(const Batch& batch, int part, int parts);

}  // namespace gang::harness::training
