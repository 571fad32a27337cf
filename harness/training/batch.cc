#include "harness/training/batch.h"

#include <algorithm>

#include "sim/random_stream.h"

namespace gang::harness::training {
namespace {

constexpr std::uint64_t largest_integer = 2;

double draw(Numbers numbers, sim::RandomStream& stream) {
  if (numbers == Numbers::real) return 2 * stream.uniform() - 1;
  return static_cast<double>(stream.below(2 * largest_integer + 1)) -
         static_cast<double>(largest_integer);
}

Batch make_numbers(const ModelSpecification& model, sim::RandomStream& stream,
                   Eigen::Index samples) {
  const auto drawn = [&] { return draw(model.numbers, stream); };
  const Eigen::Index columns = samples * model.sequence;
  return {Matrix::NullaryExpr(model.layers.front().inputs, columns, drawn),
          Matrix::NullaryExpr(model.layers.back().outputs, columns, drawn), model.sequence};
}

Batch make_tokens(const ModelSpecification& model, sim::RandomStream& stream,
                  Eigen::Index samples) {
  const auto vocabulary = static_cast<std::uint64_t>(model.layers.front().inputs);
  const Eigen::Index sequence = model.sequence;
  Batch batch{Matrix(1, samples * sequence), Matrix(1, samples * sequence), sequence};
  for (Eigen::Index sample = 0; sample < samples; ++sample) {
    auto token = static_cast<double>(stream.below(vocabulary));
    for (Eigen::Index i = sample * sequence; i < (sample + 1) * sequence; ++i) {
      batch.inputs(0, i) = token;
      token = static_cast<double>(stream.below(vocabulary));
      batch.targets(0, i) = token;
    }
  }
  return batch;
}

}  // namespace

Batch Batch::slice(Eigen::Index first, Eigen::Index count) const {
  return {inputs.middleCols(first * sequence, count * sequence),
          targets.middleCols(first * sequence, count * sequence), sequence};
}

Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 Eigen::Index samples) {
  sim::RandomStream stream{seed, "batch", static_cast<std::uint64_t>(step)};
  const bool has_tokens = model.layers.front().kind == LayerKind::embedding;
  return has_tokens ? make_tokens(model, stream, samples) : make_numbers(model, stream, samples);
}

Batch part_of(const Batch& batch, int part, int parts) {
  const Eigen::Index each = batch.samples() / parts;
  const Eigen::Index larger = batch.samples() % parts;
  const Eigen::Index first = part * each + std::min<Eigen::Index>(part, larger);
  return batch.slice(first, each + (part < larger ? 1 : 0));
}

}  // namespace gang::harness::training
