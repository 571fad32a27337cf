#include "harness/training/layers.h"

#include <cmath>
#include <numbers>

#include "gang/fake_gang.h"
#include "harness/training/attention.h"
#include "harness/training/initial_values.h"

namespace gang::harness::training {
namespace {

// Of layer norm, against columns of equal values.
constexpr double smallest_variance = 1e-5;

double normal_distribution(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

double gelu_slope(double x) {
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return normal_distribution(x) + x * density;
}

}  // namespace

Linear::Linear(const LayerSpecification& specification, const BuildOptions& options)
    : tp_(options.tp), name_(specification.name), split_(specification.split) {
  const int row_parts = split_ == Split::outputs ? tp_->size() : 1;
  parameters_.push_back(make_parameter({.name = name_ + ".weight",
                                        .rows = specification.outputs,
                                        .columns = specification.inputs,
                                        .part = tp_->rank(),
                                        .row_parts = row_parts,
                                        .column_parts = split_ == Split::inputs ? tp_->size() : 1},
                                       options));
  parameters_.push_back(make_parameter({.name = name_ + ".bias",
                                        .rows = specification.outputs,
                                        .initial = InitialValue::zero,
                                        .part = tp_->rank(),
                                        .row_parts = row_parts},
                                       options));
}

Matrix Linear::forward(const Matrix& input, Saved& saved) {
  saved.forward = {input};
  Matrix output = parameters_[0].value * input;
  if (split_ == Split::inputs) {
    tp_->all_reduce(elements(output), ReduceOperation::sum, {.label = name_});
  }
  output.colwise() += parameters_[1].value.col(0);
  return output;
}

Matrix Linear::backward_input(const Matrix& output_gradient, Saved& saved) {
  saved.backward = {output_gradient};
  Matrix gradient = parameters_[0].value.transpose() * output_gradient;
  if (split_ == Split::outputs) {
    tp_->all_reduce(elements(gradient), ReduceOperation::sum, {.label = name_});
  }
  return gradient;
}

void Linear::backward_weights(Saved& saved) {
  const Matrix& output_gradient = saved.backward[0];
  parameters_[0].gradient += output_gradient * saved.forward[0].transpose();
  parameters_[1].gradient.col(0) += output_gradient.rowwise().sum();
}

Matrix Relu::forward(const Matrix& input, Saved& saved) {
  saved.forward = {input};
  return input.cwiseMax(0);
}

Matrix Relu::backward_input(const Matrix& output_gradient, Saved& saved) {
  return (saved.forward[0].array() > 0).select(output_gradient, 0);
}

Matrix Gelu::forward(const Matrix& input, Saved& saved) {
  saved.forward = {input};
  return input.unaryExpr([](double x) { return x * normal_distribution(x); });
}

Matrix Gelu::backward_input(const Matrix& output_gradient, Saved& saved) {
  return output_gradient.cwiseProduct(saved.forward[0].unaryExpr(&gelu_slope));
}

LayerNorm::LayerNorm(const LayerSpecification& specification, const BuildOptions& options) {
  const std::string& name = specification.name;
  parameters_.push_back(make_parameter(
      {.name = name + ".gain", .rows = specification.outputs, .initial = InitialValue::one},
      options));
  parameters_.push_back(make_parameter(
      {.name = name + ".shift", .rows = specification.outputs, .initial = InitialValue::zero},
      options));
}

// Keeps the normalized columns and the factor of each.
Matrix LayerNorm::forward(const Matrix& input, Saved& saved) {
  const Eigen::RowVectorXd means = input.colwise().mean();
  Matrix normal = input.rowwise() - means;
  const Eigen::RowVectorXd variances = normal.colwise().squaredNorm() / normal.rows();
  const Eigen::RowVectorXd factors = (variances.array() + smallest_variance).rsqrt();
  normal.array().rowwise() *= factors.array();
  Matrix output = normal.array().colwise() * parameters_[0].value.col(0).array();
  output.colwise() += parameters_[1].value.col(0);
  saved.forward = {std::move(normal), factors};
  return output;
}

Matrix LayerNorm::backward_input(const Matrix& output_gradient, Saved& saved) {
  saved.backward = {output_gradient};
  const Matrix& normal = saved.forward[0];
  const Matrix scaled = output_gradient.array().colwise() * parameters_[0].value.col(0).array();
  const Eigen::RowVectorXd means = scaled.colwise().mean();
  const Eigen::RowVectorXd along = scaled.cwiseProduct(normal).colwise().mean();
  Matrix gradient = scaled.rowwise() - means;
  gradient.array() -= normal.array().rowwise() * along.array();
  gradient.array().rowwise() *= saved.forward[1].row(0).array();
  return gradient;
}

void LayerNorm::backward_weights(Saved& saved) {
  const Matrix& output_gradient = saved.backward[0];
  parameters_[0].gradient.col(0) += output_gradient.cwiseProduct(saved.forward[0]).rowwise().sum();
  parameters_[1].gradient.col(0) += output_gradient.rowwise().sum();
}

Embedding::Embedding(const LayerSpecification& specification, const BuildOptions& options)
    : tp_(options.tp), name_(specification.name) {
  parameters_.push_back(
      make_parameter({.name = name_ + ".weight",
                      .rows = specification.outputs,
                      .columns = specification.inputs,
                      .part = tp_->rank(),
                      .column_parts = specification.split == Split::inputs ? tp_->size() : 1},
                     options));
}

// Each token is known to one rank of tp; the others add zeros.
Matrix Embedding::forward(const Matrix& input, Saved& saved) {
  saved.forward = {input};
  const ModelParameter& weight = parameters_[0];
  Matrix output = Matrix::Zero(weight.value.rows(), input.cols());
  for (Eigen::Index i = 0; i < input.cols(); ++i) {
    const auto token = static_cast<Eigen::Index>(input(0, i)) - weight.first_column;
    if (token >= 0 && token < weight.value.cols()) output.col(i) = weight.value.col(token);
  }
  if (weight.value.cols() != weight.whole_columns) {
    tp_->all_reduce(elements(output), ReduceOperation::sum, {.label = name_});
  }
  return output;
}

Matrix Embedding::backward_input(const Matrix& output_gradient, Saved& saved) {
  saved.backward = {output_gradient};
  return Matrix::Zero(1, output_gradient.cols());
}

void Embedding::backward_weights(Saved& saved) {
  const Matrix& tokens = saved.forward[0];
  ModelParameter& weight = parameters_[0];
  for (Eigen::Index i = 0; i < tokens.cols(); ++i) {
    const auto token = static_cast<Eigen::Index>(tokens(0, i)) - weight.first_column;
    if (token >= 0 && token < weight.value.cols()) {
      weight.gradient.col(token) += saved.backward[0].col(i);
    }
  }
}

std::unique_ptr<Layer> make_layer(const LayerSpecification& specification,
                                  const BuildOptions& options) {
  BuildOptions with_tp = options;
  if (!with_tp.tp) with_tp.tp = make_fake_gang({.name = "tp"});
  check_tp_size({&specification, 1}, with_tp.tp->size());
  switch (specification.kind) {
    case LayerKind::linear:
      return std::make_unique<Linear>(specification, with_tp);
    case LayerKind::relu:
      return std::make_unique<Relu>();
    case LayerKind::gelu:
      return std::make_unique<Gelu>();
    case LayerKind::layer_norm:
      return std::make_unique<LayerNorm>(specification, with_tp);
    case LayerKind::attention:
      return std::make_unique<Attention>(specification, with_tp);
    case LayerKind::embedding:
      return std::make_unique<Embedding>(specification, with_tp);
  }
  return nullptr;
}

}  // namespace gang::harness::training
