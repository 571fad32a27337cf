#include "harness/training/sgd.h"

#include <algorithm>
#include <cmath>

#include "harness/training/initial_values.h"
#include "harness/training/model.h"

namespace gang::harness::training {

SgdOptions sgd_for(Numbers numbers, double momentum) {
  SgdOptions options{.momentum = momentum};
  if (numbers == Numbers::exact) {
    options.learning_rate = 1.0 / 16;
    options.grid = weight_grid;
    options.limit = largest_weight;
  }
  return options;
}

void update(const SgdOptions& options, const SgdUpdate& elements) {
  for (std::size_t i = 0; i < elements.values.size(); ++i) {
    double& velocity = elements.velocity[i];
    velocity = options.momentum * velocity + elements.gradients[i];
    double value = elements.values[i] - options.learning_rate * (velocity / elements.samples);
    if (options.grid > 0) value = std::nearbyint(value / options.grid) * options.grid + 0.0;
    if (options.limit > 0) value = std::clamp(value, -options.limit, options.limit);
    elements.values[i] = value;
  }
}

Sgd::Sgd(const SgdOptions& options, const Model& model)
    : options_(options), parameters_(model.parameters()) {
  for (const ModelParameter* parameter : parameters_)
    velocities_.emplace_back(static_cast<std::size_t>(parameter->gradient.size()), 0.0);
}

void Sgd::step(double samples) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    ModelParameter& parameter = *parameters_[i];
    const std::size_t count = velocities_[i].size();
    update(options_, {.values = {parameter.value.data(), count},
                      .gradients = {parameter.gradient.data(), count},
                      .velocity = velocities_[i],
                      .samples = samples});
  }
}

}  // namespace gang::harness::training
