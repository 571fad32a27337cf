#include "harness/training/reference.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace gang::harness::training {
namespace {

// `what` is "" or "the gradient of ".
struct Compared {
  std::string_view what;
  const Matrix& mine;
  const Matrix& whole;
};

std::string difference_of(const ModelParameter& parameter, const Compared& compared,
                          const Reference& reference) {
  const Matrix& mine = compared.mine;
  const auto expected =
      compared.whole.block(parameter.first_row, parameter.first_column, mine.rows(), mine.cols());
  const double bound =
      bound_of(reference.plan(), reference.steps(), compared.whole.cwiseAbs().maxCoeff());
  for (Eigen::Index column = 0; column < expected.cols(); ++column) {
    for (Eigen::Index row = 0; row < expected.rows(); ++row) {
      if (std::abs(mine(row, column) - expected(row, column)) <= bound) continue;
      return fmt::format("{}{}({},{}) is {} in step {}, but {} in one process (bound {:.2g})",
                         compared.what, parameter.name, parameter.first_row + row,
                         parameter.first_column + column, mine(row, column), reference.steps() - 1,
                         expected(row, column), bound);
    }
  }
  return {};
}

}  // namespace

Reference::Reference(const TrainingPlan& plan)
    : plan_(plan),
      model_(plan.model.layers, build_options(plan.model, plan.seed)),
      sgd_(plan.sgd, model_) {}

double Reference::step() { return step(plan_.batch(steps_)); }

double Reference::step(const Batch& batch) {
  Activations activations;
  model_.zero_gradients();
  const Matrix outputs = model_.forward(batch.inputs, activations);
  const Loss loss = loss_of(plan_.model.objective, outputs, batch.targets);
  model_.backward(loss.gradient, activations);
  sgd_.step(static_cast<double>(batch.samples()));
  ++steps_;
  return loss.sum;
}

double bound_of(const TrainingPlan& plan, int steps, double largest) {
  if (plan.model.numbers == Numbers::exact) return 0;
  constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
  double roundings = static_cast<double>(plan.samples * plan.model.sequence);
  for (const LayerSpecification& layer : plan.model.layers) roundings += 3.0 * layer.inputs;
  const double error = roundings * steps * unit_roundoff;
  return 4 * error / (1 - error) * std::max(1.0, largest);
}

std::string difference_of(const Model& mine, Reference& reference) {
  for (const ModelParameter* parameter : mine.parameters()) {
    const Matrix& whole = reference.model().parameter(parameter->name).value;
    std::string difference = difference_of(*parameter, {"", parameter->value, whole}, reference);
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string gradient_difference_of(const Model& mine, Reference& reference) {
  for (const ModelParameter* parameter : mine.parameters()) {
    const Matrix& whole = reference.model().parameter(parameter->name).gradient;
    std::string difference =
        difference_of(*parameter, {"the gradient of ", parameter->gradient, whole}, reference);
    if (!difference.empty()) return difference;
  }
  return {};
}

std::string difference_of(double loss, double expected, const TrainingPlan& plan, int steps) {
  const double bound = bound_of(plan, steps, std::abs(expected));
  if (std::abs(loss - expected) <= bound) return {};
  return fmt::format("the loss of step {} is {}, but {} in one process (bound {:.2g})", steps - 1,
                     loss, expected, bound);
}

}  // namespace gang::harness::training
