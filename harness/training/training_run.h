// What the training programs share: the check against one process, and the output of a model.
#pragma once

#include <optional>
#include <string>

#include "harness/program/rank.h"
#include "harness/training/reference.h"

namespace gang::harness::training {

enum class Comparison : std::uint8_t { with_one_process, none };

// What the parameter compare says.
Comparison comparison_of(const Rank& rank);

// Checks a training program's results: each rank trains the same model alone on the whole batches,
// and any difference becomes the finding wrong_result.
class TrainingCheck {
 public:
  TrainingCheck(Rank& rank, const TrainingPlan& plan,
                Comparison comparison = Comparison::with_one_process);

  bool compares() const noexcept { return reference_.has_value(); }

  // After every step: the step's loss, summed over the whole batch, and this rank's parameters and
  // gradients.
  void after_step(double loss, const Model& model);

  // The same in parts, for programs that hold their parameters in pieces. Compare gradients first:
  // a wrong gradient makes the value wrong.
  void after_step(double loss);
  void compare_gradients(const Model& model);
  void compare(const Model& model);

  // Reports that `what`, which must be the same on all ranks of `gang`, is not.
  void expect_same(bool is_same, std::string_view what, const Gang& gang);

 private:
  void report(const std::string& difference);

  Rank& rank_;
  std::optional<Reference> reference_;
};

// Outputs this rank's part of every parameter under the parameter's name.
void output_parameters(Rank& rank, const Model& model);

}  // namespace gang::harness::training
