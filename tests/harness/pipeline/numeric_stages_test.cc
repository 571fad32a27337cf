#include "harness/pipeline/numeric_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/training/reference.h"

namespace gang::harness {
namespace {

// All microbatches through all stages of a pipeline of one rank; in halves where `halves`.
void compute_all(NumericStages& stages, const HybridPlan& plan, bool halves) {
  std::vector<double> activation;
  std::vector<double> gradient;
  const int last = plan.sizes().stages() - 1;
  for (int m = 0; m < plan.sizes().microbatches; ++m) {
    for (int stage = 0; stage <= last; ++stage) {
      std::vector<double> next(
          stage < last ? static_cast<std::size_t>(plan.boundary_count(stage + 1)) : 0);
      stages.compute({stage, m, Pass::forward}, {view(activation), view(next)});
      activation = next;
    }
    for (int stage = last; stage >= 0; --stage) {
      std::vector<double> next(stage > 0 ? static_cast<std::size_t>(plan.boundary_count(stage))
                                         : 0);
      const Pass pass = halves ? Pass::backward_input : Pass::backward;
      stages.compute({stage, m, pass}, {view(gradient), view(next)});
      gradient = next;
    }
    if (!halves) continue;
    for (int stage = 0; stage <= last; ++stage)
      stages.compute({stage, m, Pass::backward_weight}, {});
  }
}

// The gradients of one rank that has all stages are those of the undivided model.
TEST(NumericStages, HaveTheGradientsOfTheWholeModel) {
  for (const bool halves : {false, true}) {
    const HybridPlan plan = make_hybrid_plan({.world_size = 1,
                                              .schedule = "interleaved_1f1b",
                                              .stages_per_rank = 3,
                                              .microbatches = 2,
                                              .layers = 3,
                                              .samples = 2});
    NumericStages stages(plan, 0, nullptr);
    stages.begin_step(plan.training.batch(0));
    compute_all(stages, plan, halves);

    training::Model whole(plan.training.model.layers,
                          training::build_options(plan.training.model, plan.training.seed));
    const training::Batch batch = plan.training.batch(0);
    training::Activations activations;
    const training::Loss loss = training::loss_of(
        plan.training.model.objective, whole.forward(batch.inputs, activations), batch.targets);
    whole.backward(loss.gradient, activations);

    EXPECT_EQ(stages.loss(), loss.sum);
    int compared = 0;
    for (const int stage : stages.stages()) {
      for (const training::ModelParameter* parameter : stages.model_of(stage).parameters()) {
        EXPECT_EQ(parameter->gradient, whole.parameter(parameter->name).gradient)
            << parameter->name;
        ++compared;
      }
    }
    EXPECT_EQ(compared, 6);
    EXPECT_EQ(stages.peak_activations(), 3);
  }
}

TEST(NumericStages, ANewStepBeginsAtZero) {
  const HybridPlan plan = make_hybrid_plan({.world_size = 1, .microbatches = 1});
  NumericStages stages(plan, 0, nullptr);
  for (int step = 0; step < 2; ++step) {
    stages.begin_step(plan.training.batch(0));
    compute_all(stages, plan, false);
  }
  const double loss = stages.loss();
  const auto gradient = stages.model_of(0).parameters().front()->gradient;
  NumericStages fresh(plan, 0, nullptr);
  fresh.begin_step(plan.training.batch(0));
  compute_all(fresh, plan, false);
  EXPECT_EQ(fresh.loss(), loss);
  EXPECT_EQ(fresh.model_of(0).parameters().front()->gradient, gradient);
}

TEST(NumericStages, ThePeakStaysWhenFewerAreStored) {
  const HybridPlan plan = make_hybrid_plan({.world_size = 1, .microbatches = 2});
  NumericStages stages(plan, 0, nullptr);
  stages.begin_step(plan.training.batch(0));
  for (const int m : {0, 1}) stages.compute({0, m, Pass::forward}, {});
  for (const int m : {0, 1}) stages.compute({0, m, Pass::backward}, {});
  EXPECT_EQ(stages.peak_activations(), 2);
  stages.begin_step(plan.training.batch(1));
  stages.compute({0, 0, Pass::forward}, {});
  EXPECT_EQ(stages.peak_activations(), 2);
}

}  // namespace
}  // namespace gang::harness
