#include "harness/training/model.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness::training {

Model::Model(std::span<const LayerSpecification> layers, const BuildOptions& options) {
  for (const LayerSpecification& specification : layers) {
    layers_.push_back(make_layer(specification, options));
    for (ModelParameter& parameter : layers_.back()->parameters())
      parameters_.push_back(&parameter);
  }
}

Matrix Model::forward(const Matrix& input, Activations& activations) {
  activations.resize(layers_.size());
  Matrix output = input;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    output = layers_[i]->forward(output, activations[i]);
  return output;
}

Matrix Model::backward(const Matrix& output_gradient, Activations& activations,
                       const GradientReady& ready) {
  Matrix gradient = output_gradient;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    gradient = layers_[i]->backward_input(gradient, activations[i]);
    layers_[i]->backward_weights(activations[i]);
    layer_is_ready(i, ready);
  }
  activations.clear();
  return gradient;
}

Matrix Model::backward_input(const Matrix& output_gradient, Activations& activations) {
  Matrix gradient = output_gradient;
  for (std::size_t i = layers_.size(); i-- > 0;)
    gradient = layers_[i]->backward_input(gradient, activations[i]);
  return gradient;
}

void Model::backward_weights(Activations& activations, const GradientReady& ready) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i]->backward_weights(activations[i]);
    layer_is_ready(i, ready);
  }
  activations.clear();
}

void Model::layer_is_ready(std::size_t layer, const GradientReady& ready) {
  if (!ready) return;
  std::vector<ModelParameter>& parameters = layers_[layer]->parameters();
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter)
    ready(*parameter);
}

ModelParameter& Model::parameter(std::string_view name) {
  for (ModelParameter* parameter : parameters_)
    if (parameter->name == name) return *parameter;
  throw InvalidArgument(fmt::format("the model has no parameter '{}'", name));
}

Eigen::Index Model::element_count() const {
  Eigen::Index count = 0;
  for (const ModelParameter* parameter : parameters_) count += parameter->gradient.size();
  return count;
}

void Model::zero_gradients() {
  for (ModelParameter* parameter : parameters_) parameter->gradient.setZero();
}

BuildOptions build_options(const ModelSpecification& model, std::uint64_t seed,
                           std::shared_ptr<Gang> tp) {
  return {.seed = seed, .numbers = model.numbers, .tp = std::move(tp)};
}

}  // namespace gang::harness::training
