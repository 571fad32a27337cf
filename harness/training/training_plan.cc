#include "harness/training/training_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "harness/training/batch.h"

namespace gang::harness::training {

Batch TrainingPlan::batch(int step) const { return make_batch(model, seed, step, samples); }

Batch TrainingPlan::part(int step, int part, int parts) const {
  return make_batch(model, seed, step, part_of(samples, part, parts));
}

std::vector<Parameter> training_parameters(std::string default_model) {
  const bool is_mlp = default_model == "mlp";
  return {choice_parameter("model", std::move(default_model), {"mlp", "transformer"},
                           "ReLU layers with exact sums, or a language model"),
          integer_parameter("hidden", is_mlp ? 16 : 8, {4, 64}, "hidden units, or token width"),
          integer_parameter("layers", is_mlp ? 3 : 1, {1, 4}, "linear layers, or blocks"),
          integer_parameter("samples", 4, {1, 256}, "samples per data-parallel rank and step"),
          integer_parameter("steps", 3, {0, 1000}, "optimizer steps"),
          integer_parameter("data_seed", 1, {0, 1'000'000}, "seed for model and data"),
          choice_parameter("compare", "true", {"true", "false"},
                           "also train alone on each rank and compare")};
}

TrainingPlan training_plan(const ParameterValues& parameters, int data_parallel_ranks) {
  TrainingPlan plan;
  plan.model = model_of(parameters.get<std::string>("model"), parameters.get<int>("hidden"),
                        parameters.get<int>("layers"));
  plan.sgd = sgd_for(plan.model.numbers, 0.5);
  plan.seed = parameters.get<std::uint64_t>("data_seed");
  plan.samples = parameters.get<std::int64_t>("samples") * data_parallel_ranks;
  return plan;
}

ModelSpecification model_of(std::string_view name, int hidden, int layers) {
  if (name == "mlp") return mlp({.hidden = hidden, .linears = layers});
  const int heads = TransformerSizes{}.heads;
  if (hidden % heads != 0)
    throw InvalidArgument(fmt::format(
        "hidden is {}; must be a multiple of {}, the heads of the transformer", hidden, heads));
  return transformer({.vocabulary = 2 * hidden, .width = hidden, .blocks = layers});
}

void validate_training(int data_parallel_ranks, const ParameterValues& parameters) {
  constexpr std::int64_t most = 1 << 14;
  const std::int64_t samples = training_plan(parameters, data_parallel_ranks).samples;
  if (samples > most && parameters.get<std::string>("compare") == "true")
    throw InvalidArgument(fmt::format(
        "{} samples on each of {} data-parallel ranks are {}; must be at most {} for every rank to "
        "compare, or set compare=false",
        parameters.get<std::int64_t>("samples"), data_parallel_ranks, samples, most));
}

void validate_tp_training(int world_size, const ParameterValues& parameters) {
  const auto tp_size = parameters.get<int>("tp");
  check_divides("tp", tp_size, "world", world_size);
  validate_training(world_size / tp_size, parameters);
  check_tp_size(training_plan(parameters, 1).model.layers, tp_size);
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0) divisors.push_back(divisor);
  return divisors;
}

void check_divides(std::string_view name, std::int64_t size, std::string_view whole_name,
                   std::int64_t whole) {
  if (size >= 1 && whole % size == 0) return;
  throw InvalidArgument(fmt::format("{} {} does not divide {} {}; must be one of: {}", name, size,
                                    whole_name, whole, fmt::join(divisors_of(whole), ", ")));
}

void check_intra_node(std::int64_t intra_node, std::int64_t dp) {
  if (intra_node == 0 || (intra_node > 1 && dp % intra_node == 0)) return;
  std::vector<std::int64_t> possible = divisors_of(dp);
  possible.front() = 0;
  throw InvalidArgument(fmt::format("intra_node is {} and dp is {}; must be one of: {}", intra_node,
                                    dp, fmt::join(possible, ", ")));
}

}  // namespace gang::harness::training
