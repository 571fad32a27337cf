// A layer of a model: forward, and backward in two halves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "gang/gang.h"
#include "harness/training/model_specification.h"

namespace gang::harness::training {

// A column is a sample, or a token of one.
using Matrix = Eigen::MatrixXd;

// The elements of a matrix, column by column. Valid until it is resized.
inline TensorView elements(Matrix& matrix) {
  return {matrix.data(), DataType::f64, Shape::vector(matrix.size())};
}

// A parameter of a model, or this rank's part of it.
struct ModelParameter {
  std::string name;  // "linear0.weight"
  Matrix value;
  Matrix gradient;                                 // of the summed loss; backward adds to it
  Eigen::Index whole_rows = 0, whole_columns = 0;  // of the whole parameter
  Eigen::Index first_row = 0, first_column = 0;    // where `value` begins in the whole
};

// What the backward pass of a layer needs from its forward pass. The caller keeps one for each
// microbatch under way, and drops it after backward_weights.
struct Saved {
  std::vector<Matrix> forward;   // written by forward
  std::vector<Matrix> backward;  // written by backward_input, for backward_weights
};

// A layer. Its gang tp may have size 1 (FakeGang); it is then the whole layer. The calls on tp are
// those of Megatron-LM: one all_reduce forward in a row-parallel layer, attention and an embedding,
// one backward in a column-parallel layer and attention. Every rank of tp passes the same input
// (its part, after a column-parallel layer) and gets the same output.
//
// Gradients are those of the loss summed over samples, so summing them over ranks, each with its
// own samples, gives the gradient of the whole batch.
class Layer {
 public:
  virtual ~Layer() = default;

  virtual Matrix forward(const Matrix& input, Saved& saved) = 0;

  // Returns the gradient of the input. Once for each forward, before backward_weights.
  virtual Matrix backward_input(const Matrix& output_gradient, Saved& saved) = 0;

  // Adds to the gradients of the parameters. May run much later (zero-bubble schedules).
  virtual void backward_weights(Saved& saved) = 0;

  // In the order in which forward uses them. Addresses are stable.
  std::vector<ModelParameter>& parameters() noexcept { return parameters_; }

 protected:
  std::vector<ModelParameter> parameters_;
};

// How the layers of a model are made.
struct BuildOptions {
  std::uint64_t seed = 1;  // of the initial values
  Numbers numbers = Numbers::exact;
  std::shared_ptr<Gang> tp = nullptr;  // null: a gang of size 1
};

// Initial values depend only on the seed and the parameter's name, so every rank, and a model in
// one process, has the same. Throws InvalidArgument if tp does not divide the layer
// (check_tp_size).
std::unique_ptr<Layer> make_layer(const LayerSpecification& specification,
                                  const BuildOptions& options);

// Causal self-attention with several heads: x + O softmax(Q K / sqrt(d)) V of every sample; each
// token attends to itself and the tokens before it. A rank of tp has some of the heads: rows of
// query, key and value, columns of output. No biases. Throws InvalidArgument unless the heads
// divide the width. `options.tp` is not null.
// Source: Vaswani et al., "Attention is all you need", 2017.
std::unique_ptr<Layer> make_attention(const LayerSpecification& specification,
                                      const BuildOptions& options);

}  // namespace gang::harness::training
