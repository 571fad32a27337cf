// Initial values of parameters; every rank makes its part of them.
#pragma once

#include <cstdint>
#include <string>

#include "harness/training/layer.h"

namespace gang::harness::training {

// The grid on which exact weights lie, and the largest weight: coarse, so that products over many
// layers still have few digits.
inline constexpr double weight_grid = 1.0 / 4;
inline constexpr double largest_weight = 1;

enum class InitialValue : std::uint8_t { random, zero, one };

// A parameter of rows x columns. This rank has part `part` of its row_parts or column_parts, which
// divide the sizes.
struct ParameterSpecification {
  std::string name;
  Eigen::Index rows = 1;
  Eigen::Index columns = 1;
  InitialValue initial = InitialValue::random;
  int part = 0;
  int row_parts = 1;
  int column_parts = 1;
};

// Random values lie on the grid for exact numbers, else uniformly in +-1/sqrt(columns). The
// gradient is zero. A part has the values that the whole has there.
ModelParameter make_parameter(const ParameterSpecification& specification,
                              const BuildOptions& options);

}  // namespace gang::harness::training
