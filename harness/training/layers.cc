#include <cmath>
#include <numbers>

#include "gang/fake_gang.h"
#include "harness/training/initial_values.h"
#include "harness/training/layer.h"

namespace gang::harness::training {
namespace {

// Keeps layer norm from dividing by zero on a column of equal values.
constexpr double smallest_variance = 1e-5;

double normal_distribution(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

double gelu_slope(double x) {
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return normal_distribution(x) + x * density;
}

// y = W x + b. Parameters: weight (outputs x inputs) and bias.
class Linear final : public Layer {
 public:
  Linear(const LayerSpecification& specification, const BuildOptions& options)
      : tp_(options.tp), name_(specification.name), split_(specification.split) {
    const int row_parts = split_ == Split::outputs ? tp_->size() : 1;
    parameters_.push_back(
        make_parameter({.name = name_ + ".weight",
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

  Matrix forward(const Matrix& input, Saved& saved) override {
    saved.forward = {input};
    Matrix output = parameters_[0].value * input;
    if (split_ == Split::inputs)
      tp_->all_reduce(elements(output), ReduceOperation::sum, {.label = name_});
    output.colwise() += parameters_[1].value.col(0);
    return output;
  }

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
    saved.backward = {output_gradient};
    Matrix gradient = parameters_[0].value.transpose() * output_gradient;
    if (split_ == Split::outputs)
      tp_->all_reduce(elements(gradient), ReduceOperation::sum, {.label = name_});
    return gradient;
  }

  void backward_weights(Saved& saved) override {
    const Matrix& output_gradient = saved.backward[0];
    parameters_[0].gradient += output_gradient * saved.forward[0].transpose();
    parameters_[1].gradient.col(0) += output_gradient.rowwise().sum();
  }

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
  Split split_;
};

// max(x, 0).
class Relu final : public Layer {
 public:
  Matrix forward(const Matrix& input, Saved& saved) override {
    saved.forward = {input};
    return input.cwiseMax(0);
  }

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
    return (saved.forward[0].array() > 0).select(output_gradient, 0);
  }

  void backward_weights(Saved&) override {}
};

// x times the normal distribution function of x. Source: Hendrycks and Gimpel, 2016.
class Gelu final : public Layer {
 public:
  Matrix forward(const Matrix& input, Saved& saved) override {
    saved.forward = {input};
    return input.unaryExpr([](double x) { return x * normal_distribution(x); });
  }

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
    return output_gradient.cwiseProduct(saved.forward[0].unaryExpr(&gelu_slope));
  }

  void backward_weights(Saved&) override {}
};

// Normalizes each column to mean 0 and variance 1, then scales and shifts it. Parameters: gain and
// shift, whole on every rank of tp. Source: Ba, Kiros and Hinton, 2016.
class LayerNorm final : public Layer {
 public:
  LayerNorm(const LayerSpecification& specification, const BuildOptions& options) {
    const std::string& name = specification.name;
    parameters_.push_back(make_parameter(
        {.name = name + ".gain", .rows = specification.outputs, .initial = InitialValue::one},
        options));
    parameters_.push_back(make_parameter(
        {.name = name + ".shift", .rows = specification.outputs, .initial = InitialValue::zero},
        options));
  }

  // Saves the normalized columns and the factor of each.
  Matrix forward(const Matrix& input, Saved& saved) override {
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

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
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

  void backward_weights(Saved& saved) override {
    const Matrix& output_gradient = saved.backward[0];
    parameters_[0].gradient.col(0) +=
        output_gradient.cwiseProduct(saved.forward[0]).rowwise().sum();
    parameters_[1].gradient.col(0) += output_gradient.rowwise().sum();
  }
};

// Maps each token number in a row to a column. Parameter: weight (outputs x vocabulary), of which a
// rank of tp has the columns of its tokens. The gradient of the input is zero.
class Embedding final : public Layer {
 public:
  Embedding(const LayerSpecification& specification, const BuildOptions& options)
      : tp_(options.tp), name_(specification.name) {
    parameters_.push_back(
        make_parameter({.name = name_ + ".weight",
                        .rows = specification.outputs,
                        .columns = specification.inputs,
                        .part = tp_->rank(),
                        .column_parts = specification.split == Split::inputs ? tp_->size() : 1},
                       options));
  }

  // One rank of tp knows each token; the others add zeros.
  Matrix forward(const Matrix& input, Saved& saved) override {
    saved.forward = {input};
    const ModelParameter& weight = parameters_[0];
    Matrix output = Matrix::Zero(weight.value.rows(), input.cols());
    for (Eigen::Index i = 0; i < input.cols(); ++i) {
      const auto token = static_cast<Eigen::Index>(input(0, i)) - weight.first_column;
      if (token >= 0 && token < weight.value.cols()) output.col(i) = weight.value.col(token);
    }
    if (weight.value.cols() != weight.whole_columns)
      tp_->all_reduce(elements(output), ReduceOperation::sum, {.label = name_});
    return output;
  }

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
    saved.backward = {output_gradient};
    return Matrix::Zero(1, output_gradient.cols());
  }

  void backward_weights(Saved& saved) override {
    const Matrix& tokens = saved.forward[0];
    ModelParameter& weight = parameters_[0];
    for (Eigen::Index i = 0; i < tokens.cols(); ++i) {
      const auto token = static_cast<Eigen::Index>(tokens(0, i)) - weight.first_column;
      if (token >= 0 && token < weight.value.cols())
        weight.gradient.col(token) += saved.backward[0].col(i);
    }
  }

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
};

}  // namespace

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
      return make_attention(specification, with_tp);
    case LayerKind::embedding:
      return std::make_unique<Embedding>(specification, with_tp);
  }
  return nullptr;
}

}  // namespace gang::harness::training
