// Causal self-attention with several heads.
#pragma once

#include "harness/training/layer.h"

namespace gang::harness::training {

// x + O softmax(Q K / sqrt(d)) V of every sample, over the tokens up to each. A rank of tp has some
// of the heads: rows of query, key and value, columns of output. No biases.
// Source: Vaswani et al., "Attention is all you need", 2017.
class Attention final : public Layer {
 public:
  // Throws InvalidArgument unless the heads divide the width.
  Attention(const LayerSpecification& specification, const BuildOptions& options);
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved& saved) override;

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
  Eigen::Index heads_;  // of this rank
  Eigen::Index head_width_;
  Eigen::Index sequence_;
};

}  // namespace gang::harness::training
