#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "gang/gangs.h"
#include "harness/pipeline/communication_stages.h"
#include "harness/pipeline/gradient_bucket.h"
#include "harness/pipeline/hybrid_plan.h"
#include "harness/pipeline/numeric_stages.h"
#include "harness/programs/all_programs.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

// The plan of a run, made by the first rank of this process that asks and shared with the others.
class SharedPlan {
 public:
  std::shared_ptr<const HybridPlan> get(const HybridOptions& options) {
    const std::lock_guard lock(mutex_);
    if (!plan_ || options_ != options) {
      plan_ = std::make_shared<const HybridPlan>(make_hybrid_plan(options));
      options_ = options;
    }
    return plan_;
  }

 private:
  std::mutex mutex_;
  HybridOptions options_;
  std::shared_ptr<const HybridPlan> plan_;
};

std::int64_t elements_of_rank(const HybridPlan& plan, int pp_rank) {
  std::int64_t elements = 0;
  for (const int stage : plan.stages_of(pp_rank))
    elements += parameter_elements(plan.stages[static_cast<std::size_t>(stage)], plan.options.tp);
  return elements;
}

// Gives every rank the loss of the whole batch, which only the last stages know.
double share_loss(const Gangs& gangs, double loss) {
  const int last = gangs.pp->size() - 1;
  if (gangs.pp->rank() == last && gangs.dp->size() > 1)
    gangs.dp->all_reduce(view_of(loss), ReduceOperation::sum, {.label = "loss"});
  if (gangs.pp->size() > 1) gangs.pp->broadcast(view_of(loss), last, {.label = "loss"});
  return loss;
}

void communicate(const HybridPlan& plan, const Gangs& gangs) {
  CommunicationStages stages(plan, gangs.pp->rank(), gangs.tp);
  GradientBucket bucket(gangs, elements_of_rank(plan, gangs.pp->rank()));
  for (int step = 0; step < plan.options.steps; ++step) {
    run_pipeline(*gangs.pp, plan.messages, stages);
    bucket.reduce();
    bucket.gather();
    share_loss(gangs, 0);
  }
}

// Trains, and compares every step with the same model in one process.
class HybridTraining {
 public:
  HybridTraining(Rank& rank, const HybridPlan& plan, const Gangs& gangs)
      : rank_(rank),
        plan_(plan),
        gangs_(gangs),
        stages_(plan, gangs.pp->rank(), gangs.tp),
        bucket_(gangs, elements_of_rank(plan, gangs.pp->rank())),
        check_(rank, plan.training) {
    for (const int stage : stages_.stages()) models_.push_back(&stages_.model_of(stage));
  }

  void run() {
    for (int step = 0; step < plan_.options.steps; ++step) run_step(step);
    check_memory();
    output_parameters();
  }

 private:
  void run_step(int step) {
    stages_.begin_step(
        training::part_of(plan_.training.batch(step), gangs_.dp->rank(), gangs_.dp->size()));
    run_pipeline(*gangs_.pp, plan_.messages, stages_);
    bucket_.pack(models_);
    bucket_.reduce();
    bucket_.update(plan_.training.sgd, static_cast<double>(plan_.training.samples));
    bucket_.gather();
    bucket_.unpack(models_);
    const double loss = share_loss(gangs_, stages_.loss());
    rank_.log("step {}: loss {:.6g}", step, loss / static_cast<double>(plan_.training.samples));
    rank_.output("loss", loss);
    check_.after_step(loss);
    for (const training::Model* model : models_) check_.compare(*model);
  }

  void check_memory() {
    const auto pp_rank = static_cast<std::size_t>(gangs_.pp->rank());
    const int planned = plan_.options.steps > 0 ? plan_.peak_activations[pp_rank] : 0;
    if (stages_.peak_activations() == planned) return;
    rank_.wrong_result(fmt::format("Rank {} stored {} activations at once; the plan allows {}.",
                                   rank_.rank(), stages_.peak_activations(), planned));
  }

  // Under names that replicas share.
  void output_parameters() {
    for (const training::Model* model : models_)
      for (training::ModelParameter* parameter : model->parameters())
        rank_.output(fmt::format("{} of tp {}", parameter->name, gangs_.tp->rank()),
                     training::elements(parameter->value));
  }

  Rank& rank_;
  const HybridPlan& plan_;
  const Gangs& gangs_;
  NumericStages stages_;
  GradientBucket bucket_;
  training::TrainingCheck check_;
  std::vector<training::Model*> models_;
};

void run_hybrid(Rank& rank, SharedPlan& shared) {
  const std::shared_ptr<const HybridPlan> plan =
      shared.get(hybrid_options(rank.world_size(), rank.parameters()));
  const HybridOptions& options = plan->options;
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = options.tp, .pp_size = options.pp});
  if (options.intra_node > 0) gangs = create_fsdp_gangs(gangs, options.intra_node);
  if (rank.parameter<std::string>("mode") == "numeric")
    HybridTraining(rank, *plan, gangs).run();
  else
    communicate(*plan, gangs);
  gangs.close();
}

// Every rank also trains the whole model on the whole batch, to compare.
void check_numeric_sizes(const HybridPlan& plan) {
  constexpr std::int64_t most_samples = 1 << 14;
  constexpr std::int64_t most_elements = 1 << 26;
  if (plan.training.samples > most_samples) {
    throw InvalidArgument(
        fmt::format("samples times microbatches times dp is {}; must be at most {}, so one process "
                    "can train on "
                    "them to compare, or set mode=communication",
                    plan.training.samples, most_samples));
  }
  const std::int64_t elements = parameter_elements(plan.training.model.layers, 1);
  if (elements * plan.options.world_size > most_elements) {
    throw InvalidArgument(
        fmt::format("the model has {} parameters; must be at most {}, so each of {} ranks can "
                    "train it whole to "
                    "compare: use fewer layers or a smaller hidden, or set mode=communication",
                    elements, most_elements / plan.options.world_size, plan.options.world_size));
  }
}

void validate_hybrid(int world_size, const ParameterValues& parameters) {
  const HybridPlan plan = make_hybrid_plan(hybrid_options(world_size, parameters));
  if (parameters.get<std::string>("mode") == "numeric") check_numeric_sizes(plan);
}

// Checks that ranks output the same under the same name: losses, and parameters of replicas.
std::optional<std::string> check_replicas(const Outputs& outputs) {
  struct First {
    std::size_t rank = 0;
    std::vector<const Output*> outputs;  // of that name, in their order
  };
  std::map<std::string, First> firsts;
  for (std::size_t rank = 0; rank < outputs.by_rank.size(); ++rank) {
    std::map<std::string, std::size_t> places;
    for (const Output& output : outputs.by_rank[rank]) {
      First& first = firsts.try_emplace(output.name, First{rank, {}}).first->second;
      if (first.rank == rank) {
        first.outputs.push_back(&output);
        continue;
      }
      const std::size_t place = places[output.name]++;
      if (place < first.outputs.size() && *first.outputs[place] == output) continue;
      return fmt::format("{} differs between ranks {} and {}.", output.name, first.rank, rank);
    }
  }
  return std::nullopt;
}

}  // namespace

Program hybrid_program() {
  std::vector<Parameter> parameters = hybrid_parameters();
  parameters.push_back(choice_parameter("mode", "numeric", {"numeric", "communication"},
                                        "communication: the same calls without arithmetic"));
  return {
      .name = "hybrid",
      .description = "training over pp x dp x tp (dp = rdp x sdp), checked against one process",
      .run = [shared = std::make_shared<SharedPlan>()](Rank& rank) { run_hybrid(rank, *shared); },
      .parameters = std::move(parameters),
      .check = check_replicas,
      .validate = validate_hybrid};
}

}  // namespace gang::harness
