// What ranks must agree on: when the data ends, when to stop, what to skip, where to resume.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

void train_step(Gang& gang, const CallSite& call_site) {
  Gradient gradient(8, 1.0F);
  gang.all_reduce(view(gradient), ReduceOperation::mean, {}, call_site);
}

// Filtering leaves shards of different lengths, and each rank reads to its own end. Fixed: ranks
// share how many batches they have read ahead, and all take the smallest number.
void end_of_data(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  const auto size = static_cast<std::size_t>(rank.world_size());
  std::int64_t unread = rank.rank() == 1 ? 5 : 8;
  while (true) {
    std::int64_t ahead = std::min<std::int64_t>(unread, 4);
    std::vector<std::int64_t> counts(size, ahead);
    if (!bug.is_planted()) root.all_gather(view(counts), view_of(ahead));
    const std::int64_t batches = *std::ranges::min_element(counts);
    if (batches == 0) return;
    for (std::int64_t i = 0; i < batches; ++i) train_step(root, bug.here());
    unread -= ahead;
  }
}

// Every rank stops by its own validation score. Fixed: rank 0 decides for all.
void early_stop(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  for (int epoch = 0; epoch < 4; ++epoch) {
    train_step(root, bug.here());
    const bool is_flat = epoch >= (rank.rank() == 2 ? 1 : 2);
    if (bug.is_planted() ? is_flat : broadcast_flag(root, is_flat)) return;
  }
}

// One rank's loss is not finite, and it skips the step. Fixed: all skip it together.
void skip_on_nan(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  for (int step = 0; step < 4; ++step) {
    const bool has_overflow = step == 1 && rank.rank() == 3;
    const float loss = has_overflow ? std::numeric_limits<float>::infinity() : 1.0F;
    const std::int64_t is_bad = std::isfinite(loss) ? 0 : 1;
    if ((bug.is_planted() ? is_bad : all_sum(root, is_bad)) != 0) continue;
    train_step(root, bug.here());
  }
}

// Clips gradients by the norm of a shard. Fixed: by the norm of all shards together.
void clip_by_own_norm(Rank& rank, const PlantedBug& bug) {
  double square = rank.rank() == 0 ? 9.0 : 0.0;  // of the gradients of this rank's shard
  if (!bug.is_planted()) square = all_sum(*rank.root(), square);
  double factor = std::min(1.0, 1.0 / std::sqrt(std::max(square, 1e-12)));
  std::vector<double> factors(static_cast<std::size_t>(rank.world_size()));
  rank.root()->all_gather(view(factors), view_of(factor));
  const bool are_equal =
      std::ranges::all_of(factors, [&](double other) { return other == factors.front(); });
  if (!are_equal)
    rank.wrong_result("The shards of one gradient were scaled by different factors.", bug.here());
}

// After an overflow a rank halves its own loss scale, and scaled gradients no longer add up. Fixed:
// an overflow anywhere halves the scale everywhere.
void loss_scale(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  float scale = 1024.0F;
  for (int step = 0; step < 3; ++step) {
    std::int32_t has_overflow = step == 1 && rank.rank() == 1 ? 1 : 0;
    if (!bug.is_planted()) root.all_reduce(view_of(has_overflow), ReduceOperation::max);
    if (has_overflow != 0) scale /= 2;
    float gradient = 3.0F * scale;
    root.all_reduce(view_of(gradient), ReduceOperation::sum);
    const float unscaled = gradient / scale / static_cast<float>(rank.world_size());
    if (unscaled != 3.0F) {
      rank.wrong_result("The gradient is a sum of gradients with different scales.", bug.here());
      return;
    }
  }
}

// Only ranks with tp rank 0 sum metrics; the others go straight to a barrier. Fixed: sums over dp,
// whose members all have the same tp rank. Wrong: sums over root, where the others do not take
// part.
void metrics_over_root(Rank& rank, const PlantedBug& bug) {
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  double loss = 2.5;
  if (gangs.tp->rank() == 0) {
    Gang& gang = bug.is_planted() ? *gangs.root : *gangs.dp;
    gang.all_reduce(view_of(loss), ReduceOperation::sum, {}, bug.here());
  }
  rank.root()->barrier({}, bug.here());
  gangs.close();
}

void rename(bool is_disk_full) {
  if (is_disk_full) throw std::runtime_error("no space left on device: step_100.tmp");
}

// All shards are written, and rank 0 fails to commit them because its disk is full. Fixed: it tells
// the others, and all keep the previous checkpoint and continue.
void commit_fails(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  root.barrier({}, bug.here());
  bool is_committed = true;
  try {
    rename(rank.rank() == 0);
  } catch (const std::runtime_error&) {
    if (bug.is_planted()) throw;
    is_committed = false;
  }
  if (!bug.is_planted()) is_committed = broadcast_flag(root, is_committed);
  if (is_committed) root.barrier();
  train_step(root, CallSite::here());
}

// One rank does not see its newest checkpoint yet and resumes from the previous one. Fixed: all
// resume from the newest one that every rank has.
void resume_step(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  std::int64_t step = rank.rank() == 2 ? 3 : 4;
  if (!bug.is_planted()) root.all_reduce(view_of(step), ReduceOperation::min);
  for (; step < 6; ++step) train_step(root, bug.here());
}

// Reduces the score after every batch, although ranks have different numbers of batches. Fixed:
// each sums its own scores, and sums and counts are reduced once.
void uneven_validation(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  const int batches = rank.rank() == 0 ? 3 : 2;
  std::vector<double> sum_and_count = {0, 0};
  for (int i = 0; i < batches; ++i) {
    std::vector<double> batch = {4.0, 1.0};
    if (bug.is_planted()) root.all_reduce(view(batch), ReduceOperation::sum, {}, bug.here());
    sum_and_count[0] += batch[0];
    sum_and_count[1] += batch[1];
  }
  if (!bug.is_planted()) root.all_reduce(view(sum_and_count), ReduceOperation::sum);
  if (sum_and_count[0] != 4.0 * sum_and_count[1])
    rank.wrong_result("The score is not the mean.", bug.here());
}

// The scheduler signals the machine of rank 1, which saves at once, alone. Fixed: at every step all
// ask whether any rank got a signal, and save together.
void save_on_signal(Rank& rank, const PlantedBug& bug) {
  Gang& root = *rank.root();
  for (int step = 0; step < 4; ++step) {
    std::int32_t has_signal = step == 2 && rank.rank() == 1 ? 1 : 0;
    if (!bug.is_planted()) root.all_reduce(view_of(has_signal), ReduceOperation::max);
    if (has_signal != 0) root.barrier({}, bug.here());
    train_step(root, bug.here());
  }
}

}  // namespace

std::vector<FaultyProgram> agreements() {
  namespace id = sim::finding_id;
  return {faulty("end_of_data", "each rank stops at its data end", end_of_data,
                 id::participant_missing, {1}, {.fewest_ranks = 3}),
          faulty("early_stop", "each rank checks its own score", early_stop,
                 id::participant_missing, {2}, {.fewest_ranks = 3}),
          faulty("skip_on_nan", "one rank skips a bad step", skip_on_nan, id::participant_missing,
                 {3}, {.fewest_ranks = 4}),
          faulty("clip_by_own_norm", "clips by its own shard's norm", clip_by_own_norm,
                 id::wrong_result, {0, 1, 2, 3}),
          faulty("loss_scale", "one rank halves its loss scale", loss_scale, id::wrong_result,
                 {0, 1, 2, 3}),
          faulty("metrics_over_root", "tp rank 0 reduces over root", metrics_over_root,
                 id::mismatch_operation, {0, 1, 2, 3},
                 {.seen_in = "fairseq2 trainer.py:860", .fewest_ranks = 4, .world_step = 2}),
          faulty("commit_fails", "rank 0 cannot commit", commit_fails, id::rank_failed, {0},
                 {.seen_in = "fairseq2 checkpoint/manager.py:494"}),
          faulty("resume_step", "one rank resumes a step earlier", resume_step,
                 id::uneven_iterations, {2}, {.fewest_ranks = 3}),
          faulty("uneven_validation", "reduces after every batch", uneven_validation,
                 id::uneven_iterations, {0}, {.fewest_ranks = 3}),
          faulty("save_on_signal", "one rank saves when signaled", save_on_signal,
                 id::mismatch_operation, {1}, {.fewest_ranks = 3})};
}

}  // namespace gang::harness
