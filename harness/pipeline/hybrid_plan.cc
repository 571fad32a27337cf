#include "harness/pipeline/hybrid_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "harness/pipeline/schedule_check.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

// Beyond as many linear layers, numbers that are exact need more than 53 bits.
constexpr int most_exact_layers = 4;

template <typename Get>
HybridOptions options_from(int world_size, const Get& get) {
  HybridOptions options{.world_size = world_size};
  options.pp = get("pp", int{});
  options.tp = get("tp", int{});
  options.intra_node = get("intra_node", int{});
  options.schedule = get("schedule", std::string{});
  options.stages_per_rank = get("stages_per_rank", int{});
  options.microbatches = get("microbatches", int{});
  options.messages = get("messages", std::string{}) == to_string(SendForm::batched)
                         ? SendForm::batched
                         : SendForm::one_by_one;
  options.split = get("split", std::string{});
  options.model = get("model", std::string{});
  options.hidden = get("hidden", int{});
  options.layers = get("layers", int{});
  options.samples = get("samples", int{});
  options.steps = get("steps", int{});
  options.data_seed = get("data_seed", std::uint64_t{});
  return options;
}

// With the defaults that depend on the rest.
HybridOptions completed(HybridOptions options) {
  const bool interleaves = options.schedule == to_string(ScheduleKind::interleaved_1f1b);
  if (options.stages_per_rank == 0) options.stages_per_rank = interleaves ? 2 : 1;
  if (options.microbatches == 0) options.microbatches = 2 * options.pp;
  const int stages = options.pp * options.stages_per_rank;
  if (options.layers == 0) options.layers = options.model == "mlp" ? 2 * stages : stages;
  return options;
}

int checked_dp(const HybridOptions& options) {
  training::check_divides("tp", options.tp, "world", options.world_size);
  training::check_divides("pp", options.pp, fmt::format("world / tp, which is"),
                          options.world_size / options.tp);
  const int dp = options.world_size / options.tp / options.pp;
  const int node = options.intra_node;
  if (node == 0 || (node > 1 && dp % node == 0)) return dp;
  std::vector<std::int64_t> divisors = training::divisors_of(dp);
  divisors.erase(divisors.begin());
  throw InvalidArgument(fmt::format("intra_node is {}, and dp {}; accepted: 0{}{}", node, dp,
                                    divisors.empty() ? "" : ", ", fmt::join(divisors, ", ")));
}

training::ModelSpecification model_of(const HybridOptions& options) {
  if (options.model == "mlp") {
    training::ModelSpecification model =
        training::mlp({.hidden = options.hidden, .linears = options.layers});
    if (options.layers > most_exact_layers) model.numbers = training::Numbers::real;
    return model;
  }
  if (options.hidden % training::TransformerSizes{}.heads != 0) {
    throw InvalidArgument(fmt::format(
        "hidden is {}; accepted for a transformer of {} heads: multiples of {}", options.hidden,
        training::TransformerSizes{}.heads, training::TransformerSizes{}.heads));
  }
  return training::transformer(
      {.vocabulary = 2 * options.hidden, .width = options.hidden, .blocks = options.layers});
}

}  // namespace

std::vector<Parameter> hybrid_parameters() {
  std::vector<std::string> schedules;
  for (const ScheduleKind kind : all_schedule_kinds) schedules.emplace_back(to_string(kind));
  constexpr IntegerRange sizes{1, 1 << 22};
  return {
      integer_parameter("pp", 1, sizes, "pipeline parallel ranks"),
      integer_parameter("tp", 1, sizes, "tensor parallel ranks"),
      integer_parameter("intra_node", 0, {0, 1 << 22},
                        "ranks of dp that shard the gradients; 0: none"),
      choice_parameter("schedule", "1f1b", schedules, "of the pipeline"),
      integer_parameter("stages_per_rank", 0, {0, 64}, "0: 2 if interleaved, else 1"),
      integer_parameter("microbatches", 0, {0, 1 << 16}, "0: two for each rank of pp"),
      choice_parameter("messages", "batched", {"batched", "one_by_one"},
                       "one_by_one hangs where sends wait for their receivers"),
      text_parameter("split", "", "first layers of stages 1, 2, ...: linear2,linear4; '': even"),
      choice_parameter("model", "mlp", {"mlp", "transformer"},
                       "layers with ReLU, or a language model"),
      integer_parameter("hidden", 16, {4, 4096}, "units, or width of a token"),
      integer_parameter("layers", 0, {0, 4096},
                        "linear layers (0: two a stage), or blocks (0: one a stage)"),
      integer_parameter("samples", 1, {1, 256}, "of a microbatch"),
      integer_parameter("steps", 1, {0, 1000}, "optimizer steps"),
      integer_parameter("data_seed", 1, {0, 1'000'000}, "of model and data")};
}

HybridOptions hybrid_options(const Rank& rank) {
  return options_from(rank.world_size(), [&rank]<typename T>(std::string_view name, T) {
    return rank.parameter<T>(name);
  });
}

HybridOptions hybrid_options(int world_size, const ParameterValues& parameters) {
  return options_from(world_size, [&parameters]<typename T>(std::string_view name, T) {
    return parameters.get<T>(name);
  });
}

std::int64_t HybridPlan::boundary_count(int stage) const {
  const auto& layers = training.model.layers;
  const StageLayers& next = stages[static_cast<std::size_t>(stage)];
  const auto before = static_cast<std::size_t>(next.data() - layers.data());
  return boundary_rows(StageLayers(layers).first(before), options.tp) * columns();
}

std::vector<int> HybridPlan::stages_of(int rank) const {
  std::vector<int> of_rank;
  for (int stage = rank; stage < sizes().stages(); stage += sizes().ranks) of_rank.push_back(stage);
  return of_rank;
}

HybridPlan make_hybrid_plan(const HybridOptions& options) {
  HybridPlan plan;
  plan.options = completed(options);
  plan.dp = checked_dp(options);
  const PipelineSizes sizes{.ranks = options.pp,
                            .stages_per_rank = plan.options.stages_per_rank,
                            .microbatches = plan.options.microbatches};
  const PipelineSchedule schedule = make_schedule(parse_schedule_kind(options.schedule), sizes);
  plan.peak_activations = peak_activations(schedule);
  plan.messages = plan_messages(schedule, options.messages);

  plan.training.model = model_of(plan.options);
  plan.training.sgd = training::sgd_for(plan.training.model.numbers, 0.5);
  plan.training.seed = options.data_seed;
  plan.training.samples = Eigen::Index{options.samples} * sizes.microbatches * plan.dp;
  training::check_tp_size(plan.training.model.layers, options.tp);
  plan.stages = split_stages(plan.training.model.layers, sizes.stages(), options.split);
  return plan;
}

}  // namespace gang::harness
