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

// Samples [first, first + count) of a larger batch.
struct SampleRange {
  Eigen::Index first = 0;
  Eigen::Index count = 0;
};

// What part `part` of `parts` has of `samples`: consecutive ones, those of lower parts first, the
// first parts having one more where they do not divide.
SampleRange part_of(Eigen::Index samples, int part, int parts);
Batch part_of(const Batch& batch, int part, int parts);

// Samples of batch number `step` of a model's data: each a function of the model, the seed, the
// step and its own number, so that ranks that make parts of a batch agree. Exact numbers: small
// integers; real: uniform in [-1, 1); of a language model: a row of tokens and the row of those
// that follow.
Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 const SampleRange& samples);
Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 Eigen::Index samples);

}  // namespace gang::harness::training
