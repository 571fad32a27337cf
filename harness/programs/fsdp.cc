// Fully sharded data parallelism: every rank has a shard of each unit of the model and gathers the
// whole unit while it computes. With intra_node, units are sharded within a node and replicated
// across nodes (HSDP).
#include <fmt/format.h>

#include "gang/agreement.h"
#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/training/replicas.h"
#include "harness/training/sharded_unit.h"
#include "harness/training/training_run.h"

namespace gang::harness {
namespace {

using namespace training;

using Units = std::vector<std::unique_ptr<ShardedUnit>>;

Gangs make_gangs(const Rank& rank) {
  const int intra_node = rank.parameter<int>("intra_node");
  const Gangs gangs = create_parallel_gangs(rank.root());
  return intra_node == 0 ? create_fsdp_gangs(gangs) : create_fsdp_gangs(gangs, intra_node);
}

// One rank's units, and the order in which it computes them.
class ShardedModel {
 public:
  ShardedModel(const TrainingPlan& plan, const Gangs& gangs, int unit_count, bool prefetch)
      : plan_(plan), prefetch_(prefetch) {
    const BuildOptions options = build_options(plan.model, plan.seed);
    for (const auto layers : split_evenly(plan.model.layers, unit_count))
      units_.push_back(std::make_unique<ShardedUnit>(layers, options, gangs, live_));
    activations_.resize(units_.size());
  }

  // Keeps the last unit, because backward needs it first.
  Matrix forward(const Matrix& input) {
    Matrix output = input;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      units_[i]->gather();
      const bool is_last = i + 1 == units_.size();
      if (prefetch_ && !is_last) units_[i + 1]->start_gather();
      output = units_[i]->forward(output, activations_[i]);
      if (!is_last) units_[i]->release();
    }
    return output;
  }

  // Scatters a unit's gradients while those of the next unit are computed.
  void backward(const Matrix& output_gradient) {
    Matrix gradient = output_gradient;
    for (std::size_t i = units_.size(); i-- > 0;) {
      units_[i]->gather();
      if (prefetch_ && i > 0) units_[i - 1]->start_gather();
      gradient = units_[i]->backward(gradient, activations_[i]);
      units_[i]->release();
      units_[i]->start_reduce();
      if (i + 1 < units_.size()) units_[i + 1]->finish_reduce();
    }
    units_.front()->finish_reduce();
  }

  void step() {
    for (auto& unit : units_) unit->step(plan_.sgd, static_cast<double>(plan_.samples));
  }

  Units& units() noexcept { return units_; }
  const LiveMemory& live() const noexcept { return live_; }

 private:
  const TrainingPlan& plan_;
  bool prefetch_;
  LiveMemory live_;
  Units units_;
  std::vector<Activations> activations_;
};

// Compares every unit with one process, and the shards of all replicas with each other.
void check_units(Units& units, const Gangs& gangs, TrainingCheck& check) {
  for (auto& unit : units) {
    if (check.compares()) {
      unit->gather();
      unit->gather_gradients();
      check.compare_gradients(unit->model());
      check.compare(unit->model());
      unit->release();
    }
    const Eigen::Map<const Matrix> shard(unit->shard().data(), 1,
                                         static_cast<Eigen::Index>(unit->shard().size()));
    check.expect_same(is_same_on_all(digest_of(Matrix(shard)), *gangs.rdp, "shards"), "a shard",
                      *gangs.rdp);
  }
}

void check_memory(Rank& rank, ShardedModel& model, bool prefetch) {
  std::vector<Eigen::Index> sizes;
  for (auto& unit : model.units()) sizes.push_back(unit->padded_elements());
  const LiveMemory plan = planned_memory(sizes, prefetch);
  const LiveMemory& live = model.live();
  if (live.values.most == plan.values.most && live.gradients.most == plan.gradients.most &&
      live.values.now == 0 && live.gradients.now == 0) {
    return;
  }
  rank.wrong_result(
      fmt::format("Rank {} held at most {} values and {} gradients, and {} and {} at the end; the "
                  "plan allows {} and {}, and none at the end.",
                  rank.rank(), live.values.most, live.gradients.most, live.values.now,
                  live.gradients.now, plan.values.most, plan.gradients.most));
}

void run_fsdp(Rank& rank) {
  Gangs gangs = make_gangs(rank);
  const TrainingPlan plan = training_plan(rank.parameters(), gangs.dp->size());
  const bool prefetch = rank.parameter<std::string>("prefetch") == "true";
  const int steps = rank.parameter<int>("steps");
  ShardedModel model(plan, gangs, rank.parameter<int>("units"), prefetch);
  TrainingCheck check(rank, plan, comparison_of(rank));
  for (int step = 0; step < steps; ++step) {
    const Batch mine = plan.part(step, gangs.dp->rank(), gangs.dp->size());
    const Matrix outputs = model.forward(mine.inputs);
    const Loss loss = loss_of(plan.model.objective, outputs, mine.targets);
    model.backward(loss.gradient);
    model.step();
    const double whole_loss = all_sum(*gangs.dp, loss.sum);
    check.after_step(whole_loss);
    check_units(model.units(), gangs, check);
    rank.output("loss", whole_loss);
  }
  if (steps > 0) check_memory(rank, model, prefetch);
  for (auto& unit : model.units()) rank.output("shard", unit->shard());
  gangs.close();
}

void validate_fsdp(int world_size, const ParameterValues& parameters) {
  validate_training(world_size, parameters);
  check_intra_node(parameters.get<std::int64_t>("intra_node"), world_size);
  const std::size_t layers = training_plan(parameters, world_size).model.layers.size();
  const auto units = parameters.get<std::size_t>("units");
  if (units > layers)
    throw InvalidArgument(
        fmt::format("units is {}; must be 1 to {}, the layers of the model", units, layers));
}

}  // namespace

Program fsdp_program() {
  std::vector<Parameter> parameters = training_parameters("mlp");
  parameters.push_back(integer_parameter("intra_node", 0, {0, 1 << 22},
                                         "ranks per node that shard the model; 0: all ranks"));
  parameters.push_back(
      integer_parameter("units", 3, {1, 64}, "parts of the model, gathered one at a time"));
  parameters.push_back(choice_parameter("prefetch", "true", {"true", "false"},
                                        "gather a unit while the previous one computes"));
  return {.name = "fsdp",
          .description = "fully sharded data parallel, checked against one process",
          .run = run_fsdp,
          .parameters = std::move(parameters),
          .validate = validate_fsdp};
}

}  // namespace gang::harness
