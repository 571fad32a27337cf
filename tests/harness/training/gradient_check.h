// Compares the gradients of a layer with finite differences.
#pragma once

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "harness/training/layer.h"

namespace gang::harness::training {

// The weighted sum of the outputs, whose gradient by the outputs is `weights`.
inline double weighted_output(Layer& layer, const Matrix& input, const Matrix& weights) {
  Saved saved;
  return layer.forward(input, saved).cwiseProduct(weights).sum();
}

// The slope of `f` when `element` changes.
template <typename Function>
double slope(double& element, const Function& f) {
  constexpr double step = 1e-6;
  const double value = element;
  element = value + step;
  const double above = f();
  element = value - step;
  const double below = f();
  element = value;
  return (above - below) / (2 * step);
}

inline void expect_near(double expected, double gradient) {
  EXPECT_NEAR(expected, gradient, 1e-6 * std::max(1.0, std::abs(expected)));
}

// Checks every parameter and, where `has_input_gradient`, every input.
inline void expect_gradients(Layer& layer, Matrix input, bool has_input_gradient = true) {
  Saved saved;
  const Matrix output = layer.forward(input, saved);
  Matrix weights(output.rows(), output.cols());
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    weights.data()[i] = std::sin(static_cast<double>(i) + 1);
  }
  const Matrix by_input = layer.backward_input(weights, saved);
  layer.backward_weights(saved);
  const auto f = [&] { return weighted_output(layer, input, weights); };
  for (Eigen::Index i = 0; has_input_gradient && i < input.size(); ++i) {
    expect_near(slope(input.data()[i], f), by_input.data()[i]);
  }
  for (ModelParameter& parameter : layer.parameters()) {
    SCOPED_TRACE(parameter.name);
    for (Eigen::Index i = 0; i < parameter.value.size(); ++i) {
      expect_near(slope(parameter.value.data()[i], f), parameter.gradient.data()[i]);
    }
  }
}

// Rows x columns of numbers without a pattern, away from the kinks of ReLU.
inline Matrix some_input(Eigen::Index rows, Eigen::Index columns) {
  Matrix input(rows, columns);
  for (Eigen::Index i = 0; i < input.size(); ++i) {
    input.data()[i] = std::cos(3 * static_cast<double>(i) + 1);
  }
  return input;
}

}  // namespace gang::harness::training
