// Layers one after the other: a whole model, or a stage or unit of one.
#pragma once

#include <functional>
#include <span>

#include "harness/training/layer.h"

namespace gang::harness::training {

// What backward needs from one forward pass through a model.
using Activations = std::vector<Saved>;

// Called with every parameter whose gradient is complete in this backward pass, in reverse order of
// the layers and, within a layer, of its parameters.
using GradientReady = std::function<void(ModelParameter&)>;

// A resource: moving it keeps the addresses of its layers and parameters.
class Model {
 public:
  // Throws InvalidArgument like make_layer.
  Model(std::span<const LayerSpecification> layers, const BuildOptions& options);

  Matrix forward(const Matrix& input, Activations& activations);

  // Both halves, layer by layer; returns the gradient of the input and drops `activations`.
  Matrix backward(const Matrix& output_gradient, Activations& activations,
                  const GradientReady& ready = {});

  // The halves, for schedules that put work between them. backward_weights drops `activations`.
  Matrix backward_input(const Matrix& output_gradient, Activations& activations);
  void backward_weights(Activations& activations, const GradientReady& ready = {});

  // In the order in which forward uses them.
  const std::vector<ModelParameter*>& parameters() const noexcept { return parameters_; }

  // Throws InvalidArgument for an unknown name.
  ModelParameter& parameter(std::string_view name);

  // The number of elements in this rank's parameters.
  Eigen::Index element_count() const;

  void zero_gradients();

 private:
  void layer_is_ready(std::size_t layer, const GradientReady& ready);

  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<ModelParameter*> parameters_;
};

// This rank's options for the layers of `model`.
BuildOptions build_options(const ModelSpecification& model, std::uint64_t seed,
                           std::shared_ptr<Gang> tp = nullptr);

}  // namespace gang::harness::training
