#include "harness/training/training_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"

namespace gang::harness::training {
namespace {

// `get` gives the value of a parameter as the type of its second argument.
template <typename Get>
TrainingPlan plan_from(const Get& get, int data_parallel_ranks) {
  const int hidden = get("hidden", int{});
  const int layers = get("layers", int{});
  TrainingPlan plan;
  plan.model = get("model", std::string{}) == "mlp"
                   ? mlp({.hidden = hidden, .linears = layers})
                   : transformer({.vocabulary = 2 * hidden, .width = hidden, .blocks = layers});
  plan.sgd = sgd_for(plan.model.numbers, 0.5);
  plan.seed = get("data_seed", std::uint64_t{});
  plan.samples = get("samples", Eigen::Index{}) * data_parallel_ranks;
  return plan;
}

}  // namespace

std::vector<Parameter> training_parameters(std::string default_model) {
  const bool is_mlp = default_model == "mlp";
  return {choice_parameter("model", std::move(default_model), {"mlp", "transformer"},
                           "layers with ReLU, summed exactly, or a language model"),
          integer_parameter("hidden", is_mlp ? 16 : 8, {4, 64}, "units, or width of a token"),
          integer_parameter("layers", is_mlp ? 3 : 1, {1, 4}, "linear layers, or blocks"),
          integer_parameter("samples", 4, {1, 256}, "of each data-parallel rank in a step"),
          integer_parameter("steps", 3, {0, 1000}, "optimizer steps"),
          integer_parameter("data_seed", 1, {0, 1'000'000}, "of model and data"),
          choice_parameter("compare", "true", {"true", "false"},
                           "every rank trains alone, too, and compares")};
}

TrainingPlan training_plan(const Rank& rank, int data_parallel_ranks) {
  return plan_from(
      [&rank]<typename T>(std::string_view name, T) { return rank.parameter<T>(name); },
      data_parallel_ranks);
}

TrainingPlan training_plan(const ParameterValues& parameters, int data_parallel_ranks) {
  return plan_from(
      [&parameters]<typename T>(std::string_view name, T) { return parameters.get<T>(name); },
      data_parallel_ranks);
}

void validate_training(int data_parallel_ranks, const ParameterValues& parameters) {
  constexpr std::int64_t most = 1 << 14;
  const auto samples = parameters.get<std::int64_t>("samples");
  const bool compares = parameters.get<std::string>("compare") == "true";
  if (compares && samples * data_parallel_ranks > most) {
    throw InvalidArgument(fmt::format(
        "samples {} times {} data-parallel ranks is too large for every rank to compare; "
        "accepted: up to {}, or compare=false",
        samples, data_parallel_ranks, most));
  }
  const auto hidden = parameters.get<std::int64_t>("hidden");
  if (parameters.get<std::string>("model") == "transformer") {
    const std::int64_t heads = TransformerSizes{}.heads;
    if (hidden % heads != 0) {
      throw InvalidArgument(
          fmt::format("hidden is {}; accepted for a transformer of {} heads: multiples of {}",
                      hidden, heads, heads));
    }
  }
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor == 0) divisors.push_back(divisor);
  }
  return divisors;
}

void check_divides(std::string_view name, std::int64_t size, std::string_view whole_name,
                   std::int64_t whole) {
  if (size >= 1 && whole % size == 0) return;
  throw InvalidArgument(fmt::format("{} {} does not divide {} {}; accepted: {}", name, size,
                                    whole_name, whole, fmt::join(divisors_of(whole), ", ")));
}

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
  report(fmt::format("{} is not the same on all ranks of {}", what, label_of(gang.info())));
}

void TrainingCheck::report(const std::string& difference) {
  if (difference.empty()) return;
  rank_.wrong_result(fmt::format("On rank {}, {}.", rank_.rank(), difference));
}

}  // namespace gang::harness::training
