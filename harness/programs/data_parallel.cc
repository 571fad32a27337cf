// One model, many workers: the model lives on rank 0, and all ranks compute for it.
#include "harness/programs/all_programs.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

// On rank 0, views of `whole` in parts of equally many columns, one per rank; none elsewhere.
std::vector<TensorView> parts_of(Matrix& whole, const Gang& gang) {
  std::vector<TensorView> parts;
  if (gang.rank() != 0) return parts;
  const Eigen::Index count = whole.size() / gang.size();
  for (int rank = 0; rank < gang.size(); ++rank)
    parts.push_back(elements(whole).slice(count * rank, count));
  return parts;
}

Matrix scatter(Matrix& whole, Eigen::Index rows, Eigen::Index columns, Gang& gang) {
  Matrix mine(rows, columns);
  gang.scatter(elements(mine), parts_of(whole, gang), 0);
  return mine;
}

Matrix gather(Matrix mine, Gang& gang) {
  Matrix whole;
  if (gang.rank() == 0) whole.resize(mine.rows(), mine.cols() * gang.size());
  gang.gather(parts_of(whole, gang), elements(mine), 0);
  return whole;
}

// One step. Only rank 0 has the batch, sees the outputs, updates, and returns the loss.
double step(const TrainingPlan& plan, Model& model, Sgd& sgd, Batch batch, Gang& gang) {
  broadcast_values(model.parameters(), gang);  // replicate
  const Eigen::Index columns = plan.samples * plan.model.sequence / gang.size();
  const Eigen::Index rows = batch.inputs.rows();
  const Matrix mine = scatter(batch.inputs, rows, columns, gang);

  Activations activations;
  model.zero_gradients();
  const Matrix outputs = gather(model.forward(mine, activations), gang);  // apply, gather

  Loss loss;
  if (gang.rank() == 0) loss = loss_of(plan.model.objective, outputs, batch.targets);
  const int output_rows = plan.model.layers.back().outputs;
  model.backward(scatter(loss.gradient, output_rows, columns, gang), activations);
  for (ModelParameter* parameter : model.parameters())
    gang.reduce(elements(parameter->gradient), ReduceOperation::sum, 0, {.label = parameter->name});
  if (gang.rank() == 0) sgd.step(static_cast<double>(plan.samples));
  return loss.sum;
}

void run_data_parallel(Rank& rank) {
  Gang& root = *rank.root();
  const TrainingPlan plan = training_plan(rank.parameters(), rank.world_size());
  const std::uint64_t own_seed = plan.seed + static_cast<std::uint64_t>(rank.rank());
  Model model(plan.model.layers, build_options(plan.model, own_seed));
  Sgd sgd(plan.sgd, model);
  TrainingCheck check(rank, plan, comparison_of(rank));
  for (int i = 0; i < rank.parameter<int>("steps"); ++i) {
    Batch batch = plan.batch(i);
    if (rank.rank() != 0) batch.inputs.setZero();
    const double loss = step(plan, model, sgd, std::move(batch), root);
    if (rank.rank() == 0) check.after_step(loss, model);
    rank.output("loss", loss);
  }
  if (rank.rank() == 0) output_parameters(rank, model);
}

}  // namespace

Program data_parallel_program() {
  return {.name = "data_parallel",
          .description = "replicate, scatter, apply, gather: rank 0 trains with many workers",
          .run = run_data_parallel,
          .parameters = training_parameters("mlp"),
          .validate = validate_training,
          .default_world_size = 4};
}

}  // namespace gang::harness
