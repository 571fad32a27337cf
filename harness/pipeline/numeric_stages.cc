#include "harness/pipeline/numeric_stages.h"

#include <algorithm>

#include "harness/training/objective.h"

namespace gang::harness {
namespace {

using training::Matrix;

// A message, as a matrix of `columns` columns.
Matrix read_matrix(const TensorView& tensor, std::int64_t columns) {
  const auto* elements = reinterpret_cast<const double*>(tensor.data());
  return Eigen::Map<const Matrix>(elements, tensor.count() / columns, columns);
}

void write_matrix(const Matrix& matrix, const TensorView& tensor) {
  std::copy_n(matrix.data(), tensor.count(), reinterpret_cast<double*>(tensor.data()));
}

}  // namespace

NumericStages::NumericStages(const HybridPlan& plan, int pp_rank, std::shared_ptr<Gang> tp)
    : plan_(plan), tp_(std::move(tp)), stages_(plan.stages_of(pp_rank)) {
  const training::BuildOptions options =
      training::build_options(plan.training.model, plan.training.seed, tp_);
  for (const int stage : stages_)
    models_.try_emplace(stage, plan.stages[static_cast<std::size_t>(stage)], options);
}

void NumericStages::begin_step(training::Batch batch) {
  for (auto& [stage, model] : models_)
    for (training::ModelParameter* parameter : model.parameters())
      parameter->gradient.setZero(parameter->value.rows(), parameter->value.cols());
  batch_ = std::move(batch);
  loss_ = 0;
}

StageBoundary NumericStages::boundary_before(int stage) const {
  return {DataType::f64, plan_.boundary_count(stage)};
}

void NumericStages::compute(const StagePass& pass, const PassTensors& tensors) {
  if (pass.pass == Pass::forward)
    forward(pass, tensors);
  else
    backward(pass, tensors);
}

training::Batch NumericStages::microbatch(int index) const {
  const Eigen::Index samples = plan_.options.samples;
  return batch_.slice(index * samples, samples);
}

void NumericStages::forward(const StagePass& pass, const PassTensors& tensors) {
  Stored& stored = stored_[{pass.stage, pass.microbatch}];
  peak_activations_ = std::max(peak_activations_, static_cast<int>(stored_.size()));
  const Matrix input = pass.stage == 0 ? microbatch(pass.microbatch).inputs
                                       : read_matrix(tensors.input, plan_.columns());
  const Matrix output = model_of(pass.stage).forward(input, stored.activations);
  if (pass.stage < plan_.sizes().stages() - 1) {
    write_matrix(output, tensors.output);
    return;
  }
  training::Loss loss = training::loss_of(plan_.training.model.objective, output,
                                          microbatch(pass.microbatch).targets, tp_);
  loss_ += loss.sum;
  stored.loss_gradient = std::move(loss.gradient);
}

void NumericStages::backward(const StagePass& pass, const PassTensors& tensors) {
  const auto place = stored_.find({pass.stage, pass.microbatch});
  Stored& stored = place->second;
  training::Model& model = model_of(pass.stage);
  if (pass.pass != Pass::backward_weight) {
    const bool is_last = pass.stage == plan_.sizes().stages() - 1;
    const Matrix gradient =
        is_last ? stored.loss_gradient : read_matrix(tensors.input, plan_.columns());
    const Matrix input_gradient = pass.pass == Pass::backward
                                      ? model.backward(gradient, stored.activations)
                                      : model.backward_input(gradient, stored.activations);
    if (pass.stage > 0) write_matrix(input_gradient, tensors.output);
  } else {
    model.backward_weights(stored.activations);
  }
  if (pass.pass != Pass::backward_input) stored_.erase(place);
}

}  // namespace gang::harness
