#include "harness/training/training_run.h"

#include <fmt/format.h>

namespace gang::harness::training {

Comparison comparison_of(const Rank& rank) {
  return rank.parameter<std::string>("compare") == "true" ? Comparison::with_one_process
                                                          : Comparison::none;
}

TrainingCheck::TrainingCheck(Rank& rank, const TrainingPlan& plan, Comparison comparison)
    : rank_(rank) {
  if (comparison == Comparison::with_one_process) reference_.emplace(plan);
}

void TrainingCheck::after_step(double loss, const Model& model) {
  after_step(loss);
  compare_gradients(model);
  compare(model);
}

void TrainingCheck::after_step(double loss) {
  if (!reference_) return;
  const double expected = reference_->step();
  report(difference_of(loss, expected, reference_->plan(), reference_->steps()));
}

void TrainingCheck::compare_gradients(const Model& model) {
  if (reference_) report(gradient_difference_of(model, *reference_));
}

void TrainingCheck::compare(const Model& model) {
  if (reference_) report(difference_of(model, *reference_));
}

void TrainingCheck::expect_same(bool is_same, std::string_view what, const Gang& gang) {
  if (is_same) return;
  report(fmt::format("{} differs between ranks of {}", what, label_of(gang.info())));
}

void TrainingCheck::report(const std::string& difference) {
  if (difference.empty()) return;
  rank_.wrong_result(fmt::format("On rank {}, {}.", rank_.rank(), difference));
}

void output_parameters(Rank& rank, const Model& model) {
  for (ModelParameter* parameter : model.parameters())
    rank.output(parameter->name, elements(parameter->value));
}

}  // namespace gang::harness::training
