// A model as a value: its layers, its objective, and the numbers it computes with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gang::harness::training {

enum class LayerKind : std::uint8_t { linear, relu, gelu, layer_norm, attention, embedding };

// What tensor parallelism divides among the ranks of tp: column-parallel layers divide their
// outputs, row-parallel ones their inputs. Source: Shoeybi et al., "Megatron-LM", 2019.
enum class Split : std::uint8_t { none, outputs, inputs };

// One layer. Sizes are those of the whole layer, regardless of tp.
struct LayerSpecification {
  LayerKind kind = LayerKind::linear;
  std::string name;  // "linear0"; its parameters are "linear0.weight", ...
  int inputs = 1;    // features of a column of the input; of an embedding: the vocabulary
  int outputs = 1;
  Split split = Split::none;
  int heads = 1;     // of attention
  int sequence = 1;  // of attention: consecutive columns that are one sample

  friend bool operator==(const LayerSpecification&, const LayerSpecification&) = default;
};

enum class Objective : std::uint8_t {
  squared_error,  // half the squared distance to the targets, summed
  cross_entropy,  // of the labels under the softmax of the outputs, summed
};

// exact: data and weights on a coarse grid, so no sum in training is ever rounded and results are
// equal bit for bit in any order of summation. real: any numbers; results of two orders differ
// within a bound (reference.h).
enum class Numbers : std::uint8_t { exact, real };

struct ModelSpecification {
  std::vector<LayerSpecification> layers;
  Objective objective = Objective::squared_error;
  Numbers numbers = Numbers::exact;
  int sequence = 1;  // columns of a sample

  friend bool operator==(const ModelSpecification&, const ModelSpecification&) = default;
};

// `linears` linear layers with ReLU between them: inputs -> hidden -> ... -> outputs. Exact. Linear
// layers alternate between column- and row-parallel; a last one without a partner is not divided.
struct MlpSizes {
  int inputs = 8;
  int hidden = 16;
  int outputs = 4;
  int linears = 3;
};
ModelSpecification mlp(const MlpSizes& sizes = {});

// A causal language model: embedding, then blocks of attention, layer norm, linear, GELU, linear
// and layer norm, then a linear layer to the vocabulary, under cross-entropy. Real.
struct TransformerSizes {
  int vocabulary = 16;
  int width = 8;
  int heads = 4;
  int blocks = 1;
  int sequence = 4;
};
ModelSpecification transformer(const TransformerSizes& sizes = {});

// Divides the layers into `parts` consecutive parts of equal size; if they do not divide evenly,
// the first parts have one more. Throws InvalidArgument if there are fewer layers than parts.
std::vector<std::span<const LayerSpecification>> split_evenly(
    std::span<const LayerSpecification> layers, int parts);

// The sizes of tp that divide every split layer, ascending.
std::vector<int> possible_tp_sizes(std::span<const LayerSpecification> layers);

// Throws InvalidArgument, naming the layer and the possible sizes, unless `tp_size` divides every
// split layer.
void check_tp_size(std::span<const LayerSpecification> layers, int tp_size);

}  // namespace gang::harness::training
