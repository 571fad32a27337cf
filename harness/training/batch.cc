#include "harness/training/batch.h"

#include <algorithm>

#include "sim/schedule/random_stream.h"

namespace gang::harness::training {
namespace {

constexpr std::uint64_t largest_integer = 2;

double draw(Numbers numbers, sim::RandomStream& stream) {
  if (numbers == Numbers::real) return 2 * stream.uniform() - 1;
  return static_cast<double>(stream.below(2 * largest_integer + 1)) -
         static_cast<double>(largest_integer);
}

void fill_numbers(const ModelSpecification& model, sim::RandomStream& stream, Batch& sample) {
  const auto drawn = [&] { return draw(model.numbers, stream); };
  sample.inputs = Matrix::NullaryExpr(model.layers.front().inputs, model.sequence, drawn);
  sample.targets = Matrix::NullaryExpr(model.layers.back().outputs, model.sequence, drawn);
}

void fill_tokens(const ModelSpecification& model, sim::RandomStream& stream, Batch& sample) {
  const auto vocabulary = static_cast<std::uint64_t>(model.layers.front().inputs);
  const auto drawn = [&] { return static_cast<double>(stream.below(vocabulary)); };
  const Matrix tokens = Matrix::NullaryExpr(1, model.sequence + 1, drawn);
  sample.inputs = tokens.leftCols(model.sequence);
  sample.targets = tokens.rightCols(model.sequence);
}

}  // namespace

Batch Batch::slice(Eigen::Index first, Eigen::Index count) const {
  return {inputs.middleCols(first * sequence, count * sequence),
          targets.middleCols(first * sequence, count * sequence), sequence};
}

SampleRange part_of(Eigen::Index samples, int part, int parts) {
  const Eigen::Index each = samples / parts;
  const Eigen::Index larger = samples % parts;
  return {part * each + std::min<Eigen::Index>(part, larger), each + (part < larger ? 1 : 0)};
}

Batch part_of(const Batch& batch, int part, int parts) {
  const SampleRange range = part_of(batch.samples(), part, parts);
  return batch.slice(range.first, range.count);
}

Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 const SampleRange& samples) {
  const bool has_tokens = model.layers.front().kind == LayerKind::embedding;
  const Eigen::Index sequence = model.sequence;
  Batch batch{Matrix(has_tokens ? 1 : model.layers.front().inputs, samples.count * sequence),
              Matrix(has_tokens ? 1 : model.layers.back().outputs, samples.count * sequence),
              sequence};
  Batch sample;
  for (Eigen::Index i = 0; i < samples.count; ++i) {
    const auto number = static_cast<std::uint64_t>(samples.first + i);
    sim::RandomStream stream{seed, "batch", (static_cast<std::uint64_t>(step) << 32U) + number};
    (has_tokens ? fill_tokens : fill_numbers)(model, stream, sample);
    batch.inputs.middleCols(i * sequence, sequence) = sample.inputs;
    batch.targets.middleCols(i * sequence, sequence) = sample.targets;
  }
  return batch;
}

Batch make_batch(const ModelSpecification& model, std::uint64_t seed, int step,
                 Eigen::Index samples) {
  return make_batch(model, seed, step, SampleRange{0, samples});
}

}  // namespace gang::harness::training
