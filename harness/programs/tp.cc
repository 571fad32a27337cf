// Tensor parallelism: the ranks of tp divide every layer and see the same data; gradients are
// summed over dp.
#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/all_programs.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

// Parameters that every rank of tp has whole, such as layer norms.
std::vector<ModelParameter*> undivided(const Model& model) {
  std::vector<ModelParameter*> all;
  for (ModelParameter* parameter : model.parameters()) {
    const bool is_whole = parameter->value.rows() == parameter->whole_rows &&
                          parameter->value.cols() == parameter->whole_columns;
    if (is_whole) all.push_back(parameter);
  }
  return all;
}

void check_replicas(const Model& model, const Gangs& gangs, TrainingCheck& check) {
  check.expect_same(is_same_on_all(digest_of(model.parameters()), *gangs.dp, "parameters"),
                    "the model", *gangs.dp);
  check.expect_same(is_same_on_all(digest_of(undivided(model)), *gangs.tp, "undivided"),
                    "an undivided parameter", *gangs.tp);
}

void run_tp(Rank& rank) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = rank.parameter<int>("tp")});
  const TrainingPlan plan = training_plan(rank.parameters(), gangs.dp->size());
  Model model(plan.model.layers, build_options(plan.model, plan.seed, gangs.tp));
  GradientBuckets buckets(model.parameters(), gangs.dp);
  Sgd sgd(plan.sgd, model);
  TrainingCheck check(rank, plan, comparison_of(rank));
  for (int step = 0; step < rank.parameter<int>("steps"); ++step) {
    const Batch mine = plan.part(step, gangs.dp->rank(), gangs.dp->size());
    check.expect_same(is_same_on_all(digest_of(mine.inputs), *gangs.tp, "batch"), "the batch",
                      *gangs.tp);
    Activations activations;
    model.zero_gradients();
    const Matrix outputs = model.forward(mine.inputs, activations);
    const Loss loss = loss_of(plan.model.objective, outputs, mine.targets, gangs.tp);
    model.backward(loss.gradient, activations,
                   [&buckets](ModelParameter& parameter) { buckets.ready(parameter); });
    buckets.finish();
    sgd.step(static_cast<double>(plan.samples));

    const double whole_loss = all_sum(*gangs.dp, loss.sum);
    check.after_step(whole_loss, model);
    check_replicas(model, gangs, check);
    rank.output("loss", whole_loss);
  }
  output_parameters(rank, model);
  gangs.close();
}

}  // namespace

Program tp_program() {
  std::vector<Parameter> parameters = training_parameters("transformer");
  parameters.push_back(integer_parameter("tp", 1, {1, 1 << 22}, "tensor parallel ranks"));
  return {.name = "tp",
          .description = "tensor parallel: layers divided over tp, checked against one process",
          .run = run_tp,
          .parameters = std::move(parameters),
          .validate = validate_tp_training,
          .default_world_size = 4};
}

}  // namespace gang::harness
