// Distributed data parallelism: every rank has the whole model and part of every batch.
#include "gang/agreement.h"
#include "harness/programs/all_programs.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

constexpr Eigen::Index features_of_buffer = 4;

// State of a model that is not a parameter: a running average of the inputs. Ranks see different
// data, so rank 0's average counts, and it is broadcast before every step.
struct Buffer {
  Matrix mean = Matrix::Zero(1, features_of_buffer);

  void observe(const Batch& batch) {
    const double seen = batch.inputs.size() == 0 ? 0 : batch.inputs.sum();
    mean = 0.5 * (mean.array() + seen);
  }
};

BucketOptions bucket_options(const Rank& rank) {
  return {.bucket_elements = rank.parameter<Eigen::Index>("bucket"),
          .overlap = rank.parameter<std::string>("overlap") == "blocking" ? Overlap::blocking
                                                                          : Overlap::asynchronous};
}

// Forward and backward over this rank's samples in `parts` parts: accumulates gradients locally and
// reduces them while the last part's backward runs. Returns the loss.
double accumulate_gradients(const TrainingPlan& plan, Model& model, GradientBuckets& buckets,
                            const Batch& mine, int parts) {
  double loss = 0;
  model.zero_gradients();
  for (int part = 0; part < parts; ++part) {
    const Batch batch = part_of(mine, part, parts);
    Activations activations;
    const Matrix outputs = model.forward(batch.inputs, activations);
    const Loss of_part = loss_of(plan.model.objective, outputs, batch.targets);
    loss += of_part.sum;
    const bool is_last = part == parts - 1;
    const auto reduce = [&buckets](ModelParameter& parameter) { buckets.ready(parameter); };
    model.backward(of_part.gradient, activations, is_last ? GradientReady(reduce) : nullptr);
  }
  buckets.finish();
  return loss;
}

void run_ddp(Rank& rank) {
  Gang& root = *rank.root();
  const TrainingPlan plan = training_plan(rank.parameters(), rank.world_size());
  // Each rank draws different values; before the first step all get those of rank 0.
  const std::uint64_t own_seed = plan.seed + static_cast<std::uint64_t>(rank.rank());
  Model model(plan.model.layers, build_options(plan.model, own_seed));
  broadcast_values(model.parameters(), root);

  GradientBuckets buckets(model.parameters(), rank.root(), bucket_options(rank));
  Sgd sgd(plan.sgd, model);
  Buffer buffer;
  Buffer expected_buffer;
  TrainingCheck check(rank, plan, comparison_of(rank));
  for (int step = 0; step < rank.parameter<int>("steps"); ++step) {
    root.broadcast(elements(buffer.mean), 0, {.label = "buffers"});
    const Batch mine = plan.part(step, rank.rank(), rank.world_size());
    buffer.observe(mine);
    const double loss =
        accumulate_gradients(plan, model, buckets, mine, rank.parameter<int>("accumulate"));
    sgd.step(static_cast<double>(plan.samples));

    const double whole_loss = all_sum(root, loss);
    check.after_step(whole_loss, model);
    check.expect_same(is_same_on_all(digest_of(model.parameters()), root, "parameters"),
                      "the model", root);
    rank.output("loss", whole_loss);
    expected_buffer.observe(plan.part(step, 0, rank.world_size()));
  }
  root.broadcast(elements(buffer.mean), 0, {.label = "buffers"});
  if (buffer.mean != expected_buffer.mean) rank.wrong_result("The buffer differs from rank 0's.");
  output_parameters(rank, model);
}

}  // namespace

Program ddp_program() {
  std::vector<Parameter> parameters = training_parameters("mlp");
  parameters.push_back(integer_parameter("bucket", 64, {1, 1 << 20}, "elements per bucket"));
  parameters.push_back(integer_parameter("accumulate", 1, {1, 64},
                                         "backward passes per step; the last one reduces"));
  parameters.push_back(choice_parameter("overlap", "asynchronous", {"asynchronous", "blocking"},
                                        "asynchronous: reduce buckets during backward"));
  return {.name = "ddp",
          .description = "data parallel: bucketed gradients, checked against one process",
          .run = run_ddp,
          .parameters = std::move(parameters),
          .validate = validate_training,
          .default_world_size = 4};
}

}  // namespace gang::harness
