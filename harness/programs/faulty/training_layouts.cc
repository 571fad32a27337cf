// Bugs of one training layout: data parallel, sharded, or tensor parallel.
#include <fmt/format.h>

#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/replicas.h"
#include "harness/training/training_run.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using namespace training;

TrainingPlan small_plan(Eigen::Index samples) {
  TrainingPlan plan;
  plan.model = mlp({.inputs = 4, .hidden = 6, .outputs = 2, .linears = 2});
  plan.sgd = sgd_for(plan.model.numbers, 0.5);
  plan.samples = samples;
  return plan;
}

Model make_model(const TrainingPlan& plan) {
  return {plan.model.layers, build_options(plan.model, plan.seed)};
}

BucketOptions small_buckets(const PlantedBug& bug) {
  return {.bucket_elements = 8, .call_site = bug.here()};
}

// Forward and backward; passes the gradients to `ready` and returns the loss.
double pass(const TrainingPlan& plan, Model& model, const Batch& batch,
            const GradientReady& ready) {
  Activations activations;
  const Matrix outputs = model.forward(batch.inputs, activations);
  const Loss loss = loss_of(plan.model.objective, outputs, batch.targets);
  model.backward(loss.gradient, activations, ready);
  return loss.sum;
}

Batch without_sample(const Batch& batch, Eigen::Index sample) {
  Batch rest = batch.slice(0, batch.samples() - 1);
  const Eigen::Index behind = rest.samples() - sample;
  rest.inputs.rightCols(behind) = batch.inputs.rightCols(behind);
  rest.targets.rightCols(behind) = batch.targets.rightCols(behind);
  return rest;
}

// Samples go to one of two experts, but all of rank 2's go to the first, so the second one's
// gradient is never ready there. Fixed: unused gradients count as zero.
void ddp_unused(Rank& rank, const PlantedBug& bug) {
  const TrainingPlan plan = small_plan(2 * rank.world_size());
  Model experts[] = {make_model(plan), make_model(plan)};
  std::vector<ModelParameter*> all = experts[0].parameters();
  all.insert(all.end(), experts[1].parameters().begin(), experts[1].parameters().end());
  GradientBuckets buckets(all, rank.root(), small_buckets(bug));
  const Batch mine = plan.part(0, rank.rank(), rank.world_size());
  const auto ready = [&buckets](ModelParameter& parameter) { buckets.ready(parameter); };
  const bool has_both = rank.rank() != 2;
  if (has_both) pass(plan, experts[1], mine.slice(1, 1), ready);
  pass(plan, experts[0], has_both ? mine.slice(0, 1) : mine, ready);
  if (!bug.is_planted()) buckets.ready_unused();
  buckets.finish();
}

// A rank with fewer batches leaves one step before the others. Fixed: it joins their collectives
// with zeros until no rank has data left.
void ddp_join(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  const TrainingPlan plan = small_plan(rank.world_size());
  Model model = make_model(plan);
  Sgd sgd(plan.sgd, model);
  Reference reference(plan);
  GradientBuckets buckets(model.parameters(), rank.root(), small_buckets(bug));
  const int batches = rank.rank() == 1 ? 2 : 3;
  for (int step = 0;; ++step) {
    const bool has_data = step < batches;
    if (bug.is_planted() && !has_data) return;
    const std::int64_t samples = bug.is_planted() ? 1 : all_sum(root, has_data ? 1 : 0);
    if (samples == 0) return;
    model.zero_gradients();
    const auto ready = [&buckets](ModelParameter& parameter) { buckets.ready(parameter); };
    if (has_data) pass(plan, model, plan.part(step, rank.rank(), rank.world_size()), ready);
    if (!has_data) buckets.ready_unused();
    buckets.finish();
    if (bug.is_planted()) continue;
    sgd.step(static_cast<double>(samples));
    reference.step(step < 2 ? plan.batch(step) : without_sample(plan.batch(step), 1));
    const std::string difference = gradient_difference_of(model, reference);
    if (!difference.empty())
      rank.wrong_result(fmt::format("On rank {}, {}.", rank.rank(), difference), bug.here());
  }
}

// Reduces gradients one by one as they become ready, and one rank built its graph in reverse.
// Fixed: all ranks use one order.
void ddp_order(Rank& rank, const PlantedBug& bug) {
  std::vector<float> weight(12, 1.0F);
  std::vector<float> bias(4, 1.0F);
  const bool is_reversed = bug.is_planted() && rank.rank() == 1;
  const auto reduce = [&](std::vector<float>& gradient) {
    return rank.root()->start_all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
  };
  Work first = reduce(is_reversed ? weight : bias);
  Work second = reduce(is_reversed ? bias : weight);
  first.wait();
  second.wait();
}

// Accumulates two passes per step, but one rank also reduces after the first pass. Fixed: all
// reduce only after the last pass.
void ddp_no_sync(Rank& rank, const PlantedBug& bug) {
  const TrainingPlan plan = small_plan(2 * rank.world_size());
  Model model = make_model(plan);
  GradientBuckets buckets(model.parameters(), rank.root(), small_buckets(bug));
  const auto ready = [&buckets](ModelParameter& parameter) { buckets.ready(parameter); };
  for (int step = 0; step < 2; ++step) {
    const Batch mine = plan.part(step, rank.rank(), rank.world_size());
    const bool reduces_first = bug.is_planted() && rank.rank() == 1 && step == 1;
    pass(plan, model, mine.slice(0, 1), reduces_first ? GradientReady(ready) : nullptr);
    if (reduces_first) buckets.finish();
    pass(plan, model, mine.slice(1, 1), ready);
    buckets.finish();
    model.zero_gradients();
  }
}

// Data statistics are not gradients, so every rank keeps its own. Fixed: rank 0 broadcasts its
// statistics before they are used.
void ddp_buffers(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  double mean = 0;
  for (int step = 0; step < 3; ++step) {
    if (!bug.is_planted()) root.broadcast(view_of(mean));
    mean = 0.5 * mean + rank.rank();
  }
  if (!bug.is_planted()) root.broadcast(view_of(mean));
  const Matrix used = Matrix::Constant(1, 1, mean);
  if (!is_same_on_all(digest_of(used), root, "buffers"))
    rank.wrong_result("Ranks normalize with different statistics.", bug.here());
}

// One rank skips a layer that the others gather, and gathers the next one instead. Fixed: every
// rank gathers every unit, needed or not.
void fsdp_skips_unit(Rank& rank, const PlantedBug& bug) {
  const auto size = static_cast<std::size_t>(rank.world_size());
  for (const std::size_t shard : {4U, 6U, 2U}) {
    const bool skips = rank.rank() == 1 && shard == 6U;
    if (skips && bug.is_planted()) continue;
    std::vector<float> mine(shard, 1.0F);
    std::vector<float> whole(shard * size);
    rank.root()->all_gather(view(whole), view(mine), {}, bug.here());
  }
}

// all_reduce averages small gradients, but reduce_scatter only sums large ones.
void undivided_shards(Rank& rank, const PlantedBug& bug) {
  const auto size = static_cast<std::size_t>(rank.world_size());
  std::vector<float> gradient(2 * size, static_cast<float>(rank.rank() + 1));
  std::vector<float> shard(2);
  rank.root()->reduce_scatter(view(shard), view(gradient),
                              bug.is_planted() ? ReduceOperation::sum : ReduceOperation::mean);
  float small = gradient[0];
  rank.root()->all_reduce(view_of(small), ReduceOperation::mean);
  if (shard[0] != small)
    rank.wrong_result("Large and small gradients are scaled differently.", bug.here());
}

// Ranks of tp see different data, because each takes the part of its rank in the world. Fixed: the
// part of its rank in dp.
void tp_own_data(Rank& rank, const PlantedBug& bug) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  const TrainingPlan plan = small_plan(2 * rank.world_size());
  Model model(plan.model.layers, build_options(plan.model, plan.seed, gangs.tp));
  const Gang& sampled_by = bug.is_planted() ? *gangs.root : *gangs.dp;
  const Batch mine = plan.part(0, sampled_by.rank(), sampled_by.size());
  GradientBuckets buckets(model.parameters(), gangs.dp, small_buckets(bug));
  pass(plan, model, mine, [&buckets](ModelParameter& parameter) { buckets.ready(parameter); });
  buckets.finish();
  Sgd sgd(plan.sgd, model);
  sgd.step(static_cast<double>(plan.samples));
  Reference reference(plan);
  reference.step();
  const std::string difference = gradient_difference_of(model, reference);
  if (!difference.empty())
    rank.wrong_result(fmt::format("On rank {}, {}.", rank.rank(), difference), bug.here());
  gangs.close();
}

// To save memory, one rank recomputes a layer in backward, including its all_reduce. Fixed: all
// ranks of tp recompute the same layers.
void tp_recompute(Rank& rank, const PlantedBug& bug) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  std::vector<float> partial(4, 1.0F);
  const auto row_parallel = [&] {
    gangs.tp->all_reduce(view(partial), ReduceOperation::sum, {}, bug.here());
  };
  for (int layer = 0; layer < 3; ++layer) row_parallel();
  const bool recomputes = !bug.is_planted() || rank.rank() == 0;
  if (recomputes) row_parallel();
  rank.root()->barrier({}, bug.here());
  gangs.close();
}

// In backward, a layer reduces the gradient it received over tp in place, although the residual
// connection adds the same gradient again. Fixed: it reduces into its own memory.
void tp_grad_in_place(Rank& rank, const PlantedBug& bug) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  std::vector<double> received = {1.0, 2.0};
  std::vector<double> own = received;
  std::vector<double>& reduced = bug.is_planted() ? received : own;
  gangs.tp->all_reduce(view(reduced), ReduceOperation::sum);
  const std::vector<double> gradient = {reduced[0] + received[0], reduced[1] + received[1]};
  if (gradient != std::vector<double>{3.0, 6.0})
    rank.wrong_result("The residual's gradient was reduced together with the layer's.", bug.here());
  gangs.close();
}

}  // namespace

std::vector<FaultyProgram> training_layouts() {
  namespace id = sim::finding_id;
  return {
      faulty("ddp_unused", "a gradient that is never ready", ddp_unused, id::rank_failed, {2},
             {.fewest_ranks = 3}),
      faulty("ddp_join", "uneven inputs, and no join", ddp_join, id::participant_missing, {1},
             {.fewest_ranks = 3}),
      faulty("ddp_order", "buckets in a rank's own order", ddp_order, id::mismatch_count, {1},
             {.fewest_ranks = 3}),
      faulty("ddp_no_sync", "reduces while accumulating", ddp_no_sync, id::participant_missing, {1},
             {.fewest_ranks = 3}),
      faulty("ddp_buffers", "statistics are not broadcast", ddp_buffers, id::wrong_result,
             {0, 1, 2, 3}),
      faulty("fsdp_skips_unit", "a rank skips a layer", fsdp_skips_unit, id::mismatch_count, {1},
             {.fewest_ranks = 3}),
      faulty("undivided_shards", "one path sums, one averages", undivided_shards, id::wrong_result,
             {0, 1, 2, 3}, {.seen_in = "pytorch#162338, pytorch#149781"}),
      faulty("tp_own_data", "different data on each tp rank", tp_own_data, id::wrong_result,
             {0, 1, 2, 3}, {.fewest_ranks = 4, .world_step = 2}),
      faulty("tp_recompute", "one tp rank recomputes a layer", tp_recompute,
             id::blocked_in_other_gang, {0}, {.fewest_ranks = 4, .world_step = 2}),
      faulty(
          "tp_grad_in_place", "reduces a gradient in use", tp_grad_in_place, id::wrong_result,
          {0, 1, 2, 3},
          {.seen_in = "fairseq2 ops/tensor_parallel.py:23", .fewest_ranks = 4, .world_step = 2})};
}

}  // namespace gang::harness
