// Training data that every rank can generate for itself.
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

  // Samples [first, first + count), which must lie within.
  Batch slice(Eigen::Index first, Eigen::Index count) const;
};

// Samples [first, first + count) of a larger batch.
struct SampleRange {
  Eigen::Index first = 0;
  Eigen::Index count = 0;
};

// The share of part `part` of `parts`: consecutive samples, lower parts first. If `parts` does not
// divide `samples`, the first parts have one more.
SampleRange part_of(Eigen::Index samples, int part, int parts);
Batch part_of(const Batch& batch, int part, int parts);

// Samples of batch number `step` of a model's data. Each is a function of the model, the seed, the
// step and its own number, so ranks that generate parts of a batch agree. Exact numbers are small
// integers, real ones uniform in [-1, 1); a language model gets a row of tokens, and as targets the
// tokens that follow each.
Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 const SampleRange& samples);
Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 Eigen::Index samples);

}  // namespace gang::harness::training
