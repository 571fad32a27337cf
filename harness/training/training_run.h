// What the training programs have in common: their parameters, and the check against one process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/program/parameter.h"
#include "harness/program/rank.h"
#include "harness/training/reference.h"

namespace gang::harness::training {

// model (mlp, transformer), hidden, layers, samples (of each data-parallel rank), steps, data_seed,
// compare (whether each rank trains alone, too, and compares).
std::vector<Parameter> training_parameters(std::string default_model);

// The plan that a program's parameters mean, with as many samples as `data_parallel_ranks` ranks
// have together.
TrainingPlan training_plan(const Rank& rank, int data_parallel_ranks);
TrainingPlan training_plan(const ParameterValues& parameters, int data_parallel_ranks);

// Throws InvalidArgument where the whole batch is too large to be trained on in one process, as
// every rank does that compares its results.
void validate_training(int data_parallel_ranks, const ParameterValues& parameters);

// 6: {1, 2, 3, 6}.
std::vector<std::int64_t> divisors_of(std::int64_t number);

// Throws InvalidArgument, naming the sizes that would do, unless `size` divides `whole`:
// "tp 3 does not divide world 4; accepted: 1, 2, 4".
void check_divides(std::string_view name, std::int64_t size, std::string_view whole_name,
                   std::int64_t whole);

enum class Comparison : std::uint8_t { with_one_process, none };

// What the parameter compare says.
Comparison comparison_of(const Rank& rank);

// What every training program says of its results: each rank trains the same model alone on the
// whole batches, and what differs becomes the finding wrong_result.
class TrainingCheck {
 public:
  TrainingCheck(Rank& rank, const TrainingPlan& plan,
                Comparison comparison = Comparison::with_one_process);

  bool compares() const noexcept { return reference_.has_value(); }

  // After every step: the step's loss, summed over the whole batch, and this rank's parameters and
  // gradients.
  void after_step(double loss, const Model& model);

  // The same in parts, for programs that have their parameters in pieces. Gradients first: a wrong
  // one makes the value wrong.
  void after_step(double loss);
  void compare_gradients(const Model& model);
  void compare(const Model& model);

  // Says that something is not the same on all ranks where it must be.
  void expect_same(bool is_same, std::string_view what, const Gang& gang);

 private:
  void report(const std::string& difference);

  Rank& rank_;
  std::optional<Reference> reference_;
};

}  // namespace gang::harness::training
