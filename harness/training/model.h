// Layers one after the other: a whole model, or a stage or unit of one.
#pragma once

#include <functional>
#include <span>

#include "harness/training/layer.h"

namespace gang::harness::training {

// What backward needs of one forward pass through a model.
using Activations = std::vector<Saved>;

// Is told of every parameter whose gradient of this backward pass is complete: in reverse order of
// the layers, and within a layer in reverse order of its parameters.
using GradientReady = std::function<void(ModelParameter&)>;

// A resource: layers and parameters keep their addresses when it is moved.
class Model {
 public:
  // Throws InvalidArgument as make_layer.
  Model(std::span<const LayerSpecification> layers, const BuildOptions& options);

  Matrix forward(const Matrix& input, Activations& activations);

  // Both halves, layer by layer; gives the gradient by the input and drops `activations`.
  Matrix backward(const Matrix& output_gradient, Activations& activations,
                  const GradientReady& ready = {});

  // The halves, for schedules that put work between them. backward_weights drops `activations`.
  Matrix backward_input(const Matrix& output_gradient, Activations& activations);
  void backward_weights(Activations& activations, const GradientReady& ready = {});

  // In the order in which forward uses them.
  const std::vector<ModelParameter*>& parameters() const noexcept { return parameters_; }

  // Throws InvalidArgument for a name that is not there.
  ModelParameter& parameter(std::string_view name);

  // Number of elements of this rank's parameters.
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
