#include "harness/pipeline/hybrid_plan.h"

#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

// With more linear layers, exact numbers would need more than 53 bits.
constexpr int most_exact_layers = 4;

// Fills in the defaults that depend on the rest.
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
  training::check_divides("pp", options.pp, "world / tp =", options.world_size / options.tp);
  const int dp = options.world_size / options.tp / options.pp;
  training::check_intra_node(options.intra_node, dp);
  return dp;
}

training::ModelSpecification model_of(const HybridOptions& options) {
  training::ModelSpecification model =
      training::model_of(options.model, options.hidden, options.layers);
  if (options.layers > most_exact_layers) model.numbers = training::Numbers::real;
  return model;
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
                        "ranks of dp that shard gradients; 0: no sharding"),
      choice_parameter("schedule", "1f1b", schedules, "pipeline schedule"),
      integer_parameter("stages_per_rank", 0, {0, 64},
                        "pipeline stages per rank; 0: 2 if interleaved, else 1"),
      integer_parameter("microbatches", 0, {0, 1 << 16},
                        "microbatches per step; 0: two per rank of pp"),
      choice_parameter("messages", "batched", {"batched", "one_by_one"},
                       "one_by_one hangs unless sends are buffered"),
      text_parameter("split", "",
                     "first layers of stages 1, 2, ... (linear2,linear4); empty: even"),
      choice_parameter("model", "mlp", {"mlp", "transformer"}, "ReLU layers, or a language model"),
      integer_parameter("hidden", 16, {4, 4096}, "hidden units, or token width"),
      integer_parameter("layers", 0, {0, 4096},
                        "linear layers (0: two per stage), or blocks (0: one per stage)"),
      integer_parameter("samples", 1, {1, 256}, "samples per microbatch"),
      integer_parameter("steps", 1, {0, 1000}, "optimizer steps"),
      integer_parameter("data_seed", 1, {0, 1'000'000}, "seed for model and data")};
}

HybridOptions hybrid_options(int world_size, const ParameterValues& parameters) {
  const auto number = [&parameters](std::string_view name) { return parameters.get<int>(name); };
  const auto text = [&parameters](std::string_view name) {
    return parameters.get<std::string>(name);
  };
  return {.world_size = world_size,
          .pp = number("pp"),
          .tp = number("tp"),
          .intra_node = number("intra_node"),
          .schedule = text("schedule"),
          .stages_per_rank = number("stages_per_rank"),
          .microbatches = number("microbatches"),
          .messages = text("messages") == to_string(SendForm::batched) ? SendForm::batched
                                                                       : SendForm::one_by_one,
          .split = text("split"),
          .model = text("model"),
          .hidden = number("hidden"),
          .layers = number("layers"),
          .samples = number("samples"),
          .steps = number("steps"),
          .data_seed = parameters.get<std::uint64_t>("data_seed")};
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
  plan.training.samples = std::int64_t{options.samples} * sizes.microbatches * plan.dp;
  training::check_tp_size(plan.training.model.layers, options.tp);
  plan.stages = split_stages(plan.training.model.layers, sizes.stages(), options.split);
  return plan;
}

}  // namespace gang::harness
