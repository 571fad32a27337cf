#include "harness/training/initial_values.h"

#include <cmath>

#include "sim/schedule/random_stream.h"

namespace gang::harness::training {
namespace {

Matrix random_values(const ParameterSpecification& wanted, const BuildOptions& options) {
  sim::RandomStream stream{options.seed, wanted.name};
  if (options.numbers == Numbers::exact) {
    constexpr auto steps = static_cast<std::int64_t>(largest_weight / weight_grid);
    return Matrix::NullaryExpr(wanted.rows, wanted.columns, [&stream] {
      const auto drawn = static_cast<std::int64_t>(stream.below(2 * steps + 1));
      return static_cast<double>(drawn - steps) * weight_grid;
    });
  }
  const double largest = 1 / std::sqrt(static_cast<double>(wanted.columns));
  return Matrix::NullaryExpr(wanted.rows, wanted.columns,
                             [&stream, largest] { return largest * (2 * stream.uniform() - 1); });
}

}  // namespace

ModelParameter make_parameter(const ParameterSpecification& wanted, const BuildOptions& options) {
  ModelParameter parameter;
  parameter.name = wanted.name;
  parameter.whole_rows = wanted.rows;
  parameter.whole_columns = wanted.columns;
  const Eigen::Index rows = wanted.rows / wanted.row_parts;
  const Eigen::Index columns = wanted.columns / wanted.column_parts;
  if (wanted.row_parts > 1) parameter.first_row = rows * wanted.part;
  if (wanted.column_parts > 1) parameter.first_column = columns * wanted.part;
  if (wanted.initial == InitialValue::random)
    parameter.value = random_values(wanted, options)
                          .block(parameter.first_row, parameter.first_column, rows, columns);
  else
    parameter.value = Matrix::Constant(rows, columns, wanted.initial == InitialValue::one ? 1 : 0);
  parameter.gradient = Matrix::Zero(rows, columns);
  return parameter;
}

}  // namespace gang::harness::training
