// Tensor parallelism: every layer is divided among the ranks of tp, which see the same data, and
// gradients are summed over dp.
#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/all_programs.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

// Parameters that every rank of tp has whole, as layer norms.
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
                    "what tp does not divide", *gangs.tp);
}

void run_tp(Rank& rank) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = rank.parameter<int>("tp")});
  const TrainingPlan plan = training_plan(rank, gangs.dp->size());
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
  for (ModelParameter* parameter : model.parameters()) {
    rank.output(parameter->name, elements(parameter->value));
  }
  gangs.close();
}

void validate_tp(int world_size, const ParameterValues& parameters) {
  const auto tp_size = parameters.get<int>("tp");
  check_divides("tp", tp_size, "world", world_size);
  validate_training(world_size / tp_size, parameters);
  check_tp_size(training_plan(parameters, 1).model.layers, tp_size);
}

}  // namespace

Program tp_program() {
  std::vector<Parameter> parameters = training_parameters("transformer");
  parameters.push_back(integer_parameter("tp", 1, {1, 1 << 22}, "tensor parallel ranks"));
  return {.name = "tp",
          .description = "tensor parallel: layers divided over tp, equal to one process",
          .run = run_tp,
          .parameters = std::move(parameters),
          .validate = validate_tp,
          .default_world_size = 4};
}

}  // namespace gang::harness
