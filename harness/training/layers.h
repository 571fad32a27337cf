// The kinds of layers; attention has a file of its own.
#pragma once

#include "harness/training/layer.h"

namespace gang::harness::training {

// y = W x + b. Parameters weight (outputs x inputs) and bias.
class Linear final : public Layer {
 public:
  Linear(const LayerSpecification& specification, const BuildOptions& options);
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved& saved) override;

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
  Split split_;
};

// max(x, 0).
class Relu final : public Layer {
 public:
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved&) override {}
};

// x times the normal distribution function of x. Source: Hendrycks and Gimpel, 2016.
class Gelu final : public Layer {
 public:
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved&) override {}
};

// Each column brought to mean 0 and variance 1, then scaled and shifted. Parameters gain and shift;
// every rank of tp has all of it. Source: Ba, Kiros and Hinton, 2016.
class LayerNorm final : public Layer {
 public:
  LayerNorm(const LayerSpecification& specification, const BuildOptions& options);
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved& saved) override;
};

// A row of token numbers to a column each. Parameter weight (outputs x vocabulary), of which a rank
// of tp has the columns of its tokens. The gradient by the input is zero.
class Embedding final : public Layer {
 public:
  Embedding(const LayerSpecification& specification, const BuildOptions& options);
  Matrix forward(const Matrix& input, Saved& saved) override;
  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override;
  void backward_weights(Saved& saved) override;

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
};

}  // namespace gang::harness::training
