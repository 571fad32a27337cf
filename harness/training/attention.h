// Causal self-attention with several heads.
#pragma once

#include "harness/training/layer.h"

namespace gang::harness::training {

// x + O softmax(Q K / sqrt(d)) V of every sample; each token attends to itself and the tokens
// before it. A rank of tp has some of the heads: rows of query, key and value, columns of output.
// No biases. Throws InvalidArgument unless the heads divide the width. `options.tp` is not null.
// Source: Vaswani et al., "Attention is all you need", 2017.
std::unique_ptr<Layer> make_attention(const LayerSpecification& specification,
                                      const BuildOptions& options);

}  // namespace gang::harness::training
