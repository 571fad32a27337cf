// The members of a gang make different k-th calls.
#include "gang/agreement.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

// Reduces the loss inside "if rank 0: log", while the other ranks are in the next step.
void log_on_rank_0(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  float loss = 2.0F;
  for (int step = 0; step < 4; ++step) {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
    const bool logs = step % 2 == 0 && (rank.rank() == 0 || !bug.is_planted());
    if (logs) rank.root()->reduce(view_of(loss), ReduceOperation::mean, 0, {}, bug.here());
  }
}

// "if targets > 0" around a collective: the rank with an empty batch skips it.
void empty_batch(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  const int targets = rank.rank() == 3 ? 0 : 100;
  if (targets > 0 || !bug.is_planted()) all_sum(*rank.root(), targets);
  rank.root()->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
}

// Only one rank knows of a stop request, and goes straight to the final barrier.
void stop_signal(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  for (int step = 0; step < 4; ++step) {
    std::int32_t is_stopped = rank.rank() == 1 && step == 2 ? 1 : 0;
    if (!bug.is_planted()) rank.root()->all_reduce(view_of(is_stopped), ReduceOperation::max);
    if (is_stopped != 0) break;
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  }
  rank.root()->barrier({}, bug.here());
}

// Each rank looks for the checkpoint on its own, and one does not see it yet.
void resume_by_listing(Rank& rank, const PlantedBug& bug) {
  bool is_there = rank.rank() != 2;
  if (!bug.is_planted()) is_there = broadcast_flag(*rank.root(), is_there);
  std::vector<float> weights(16, 1.0F);
  if (is_there) rank.root()->broadcast(view(weights));
  rank.root()->all_reduce(view(weights), ReduceOperation::mean, {}, bug.here());
}

// A barrier matches a different barrier; only their labels tell them apart.
void barrier_off_by_one(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() == 0 || !bug.is_planted())
    rank.root()->barrier({.label = "checkpoint saved"}, bug.here());
  rank.root()->barrier({.label = "end of training"});
}

// One rank calls reduce, the others all_reduce.
void reduce_to_one(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  if (bug.is_planted() && rank.rank() == 1)
    rank.root()->reduce(view(gradient), ReduceOperation::sum, 1, {}, bug.here());
  else
    rank.root()->all_reduce(view(gradient), ReduceOperation::sum);
}

// Ported from a stricter system, where a blocking call does not match a started one.
void strict_port(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  if (bug.is_planted() && rank.rank() == 2)
    rank.root()->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here()).wait();
  else
    rank.root()->all_reduce(view(gradient), ReduceOperation::sum);
}

// dp and sdp have the same members, and one rank reduces over the wrong one.
void dp_or_sdp(Rank& rank, const PlantedBug& bug) {
  std::vector<int> all;
  for (int i = 0; i < rank.world_size(); ++i) all.push_back(i);
  const auto dp = rank.root()->create_gang(all, {.name = "dp"});
  const auto sdp = rank.root()->create_gang(all, {.name = "sdp"});
  Gradient gradient(8, 1.0F);
  const bool is_mixed_up = bug.is_planted() && rank.rank() == 1;
  (is_mixed_up ? sdp : dp)->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
}

}  // namespace

std::vector<FaultyProgram> mismatched_calls() {
  namespace id = sim::finding_id;
  return {
      faulty("log_on_rank_0", "logging is a collective", log_on_rank_0, id::mismatch_operation, {0},
             {.fewest_ranks = 3}),
      faulty("empty_batch", "a guard around a collective", empty_batch, id::mismatch_data_type, {3},
             {.seen_in = "fairseq2 trainer.py:599", .fewest_ranks = 4}),
      faulty("stop_signal", "one rank gets the stop signal", stop_signal, id::mismatch_operation,
             {1},
             {.seen_in = "fairseq2#679, fairseq2 recipe/internal/task.py:38", .fewest_ranks = 3}),
      faulty("resume_by_listing", "one rank sees no checkpoint", resume_by_listing,
             id::mismatch_operation, {2},
             {.seen_in = "KempnerForge#49, fairseq2 trainer.py:363", .fewest_ranks = 3}),
      faulty("reduce_to_one", "reduce against all_reduce", reduce_to_one, id::mismatch_operation,
             {1}, {.fewest_ranks = 3}),
      faulty("barrier_off_by_one", "a barrier matches the next one", barrier_off_by_one,
             id::mismatch_label, {0}, {.fewest_ranks = 3}),
      faulty("strict_port", "start_ against a blocking call", strict_port, id::mismatch_blocking,
             {2}, {.fewest_ranks = 3, .options = {{"strict-blocking", "true"}}}),
      faulty("dp_or_sdp", "a gang with the same members", dp_or_sdp, id::mismatch_gang, {1},
             {.fewest_ranks = 3})};
}

}  // namespace gang::harness
