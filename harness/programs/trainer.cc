// Everything the ranks of a trainer must agree on, done right: where to resume, when the data ends,
// whether a gradient overflowed, when to save and whether that worked, how good the model is, and
// when to stop.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/all_programs.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

// With a larger loss scale, one rank's gradients overflow.
constexpr double largest_scale = 1 << 15;

class Trainer {
 public:
  explicit Trainer(Rank& rank)
      : rank_(rank),
        gangs_(create_parallel_gangs(rank.root(), {.tp_size = rank.parameter<int>("tp")})),
        plan_(training_plan(rank.parameters(), gangs_.dp->size())),
        model_(plan_.model.layers, build_options(plan_.model, plan_.seed, gangs_.tp)),
        buckets_(model_.parameters(), gangs_.dp),
        sgd_(plan_.sgd, model_),
        check_(rank, plan_, comparison_of(rank)) {}

  void run() {
    int step = first_step();
    while (has_data_for_all(step)) {
      const double loss = compute_gradients(step);
      if (!unscale_gradients()) continue;  // all ranks repeat the batch
      sgd_.step(static_cast<double>(plan_.samples));
      check_.after_step(all_sum(*gangs_.dp, loss), model_);
      ++step;
      if (is_anyone_signaled(step)) save(step);
      if (is_good_enough(step)) break;
    }
    rank_.output("steps", static_cast<std::int64_t>(step));
    rank_.output("saved", saved_step_);
    output_parameters(rank_, model_);
    gangs_.close();
  }

 private:
  // The newest checkpoint that every rank has; the last rank's disk lags behind.
  int first_step() {
    std::int64_t newest = rank_.rank() + 1 == rank_.world_size() ? 0 : 2;
    gangs_.root->all_reduce(view_of(newest), ReduceOperation::min, {.label = "newest checkpoint"});
    return static_cast<int>(newest);
  }

  // Shards differ in length; the epoch ends with the shortest one.
  bool has_data_for_all(int step) {
    std::int64_t left = rank_.parameter<int>("steps") + gangs_.dp->rank() % 3 - step;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(gangs_.dp->size()));
    gangs_.dp->all_gather(view(counts), view_of(left), {.label = "batches left"});
    return *std::ranges::min_element(counts) > 0;
  }

  // Computes gradients of the scaled loss. Returns this rank's part of the loss.
  double compute_gradients(int step) {
    const Batch mine = plan_.part(step, gangs_.dp->rank(), gangs_.dp->size());
    Activations activations;
    model_.zero_gradients();
    const Matrix outputs = model_.forward(mine.inputs, activations);
    Loss loss = loss_of(plan_.model.objective, outputs, mine.targets, gangs_.tp);
    loss.gradient *= scale_;
    const bool overflows = scale_ > largest_scale && rank_.rank() == rank_.world_size() / 2;
    if (overflows) loss.gradient.setConstant(std::numeric_limits<double>::infinity());
    model_.backward(loss.gradient, activations,
                    [this](ModelParameter& parameter) { buckets_.ready(parameter); });
    buckets_.finish();
    return loss.sum;
  }

  // Every rank learns whether any part of the gradient overflowed; if so, all halve the scale and
  // this returns false.
  bool unscale_gradients() {
    double square = 0;
    for (const ModelParameter* parameter : model_.parameters())
      square += parameter->gradient.squaredNorm();
    std::int64_t is_bad = std::isfinite(square) ? 0 : 1;
    is_bad = all_sum(*gangs_.root, is_bad);
    if (is_bad != 0) {
      scale_ /= 2;
      return false;
    }
    for (ModelParameter* parameter : model_.parameters()) parameter->gradient /= scale_;
    return true;
  }

  // The scheduler signals only one rank that time is up.
  bool is_anyone_signaled(int step) {
    std::int32_t has_signal = step == 2 && rank_.rank() == rank_.world_size() / 2 ? 1 : 0;
    gangs_.root->all_reduce(view_of(has_signal), ReduceOperation::max, {.label = "signal"});
    return has_signal != 0;
  }

  // Once all have written, rank 0 commits; if it cannot, all continue without the checkpoint.
  void save(int step) {
    gangs_.root->barrier({.label = "written"});
    bool is_committed = true;
    try {
      if (rank_.rank() == 0) commit();
    } catch (const std::runtime_error&) {
      is_committed = false;
    }
    if (broadcast_flag(*gangs_.root, is_committed)) saved_step_ = step;
    gangs_.root->barrier({.label = "committed"});
  }

  void commit() const {
    if (rank_.parameter<std::string>("disk") == "full")
      throw std::runtime_error("no space left on device");
  }

  // Ranks of dp validate different numbers of batches; one rank of each tp adds its sums. Rank 0
  // decides for all.
  bool is_good_enough(int step) {
    std::vector<double> sum_and_count = {0, 0};
    for (int i = 0; i <= gangs_.dp->rank(); ++i) {
      sum_and_count[0] += 1.0 / step;
      sum_and_count[1] += 1;
    }
    if (gangs_.tp->rank() == 0)
      gangs_.dp->all_reduce(view(sum_and_count), ReduceOperation::sum, {.label = "score"});
    gangs_.root->barrier({.label = "scored"});
    const double score = rank_.rank() == 0 ? sum_and_count[0] / sum_and_count[1] : 0;
    const bool is_enough = rank_.rank() == 0 && score <= rank_.parameter<double>("stop_below");
    return broadcast_flag(*gangs_.root, is_enough);
  }

  Rank& rank_;
  Gangs gangs_;
  TrainingPlan plan_;
  Model model_;
  GradientBuckets buckets_;
  Sgd sgd_;
  TrainingCheck check_;
  double scale_ = 4 * largest_scale;
  std::int64_t saved_step_ = 0;
};

}  // namespace

Program trainer_program() {
  std::vector<Parameter> parameters = training_parameters("mlp");
  parameters.push_back(integer_parameter("tp", 1, {1, 1 << 22}, "tensor parallel ranks"));
  parameters.push_back(choice_parameter("disk", "empty", {"empty", "full"},
                                        "whether rank 0 can commit the checkpoint"));
  parameters.push_back(
      number_parameter("stop_below", 0, {0, 1}, "score (1/step) at which training stops"));
  return {.name = "trainer",
          .description = "what ranks must agree on: resume, data end, overflow, save, score, stop",
          .run = [](Rank& rank) { Trainer(rank).run(); },
          .parameters = std::move(parameters),
          .validate = validate_tp_training,
          .default_world_size = 4};
}

}  // namespace gang::harness
