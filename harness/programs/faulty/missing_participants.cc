// A participant is missing: a rank returns, leaves its loop, or takes a different branch.
#include "gang/agreement.h"
#include "gang/error.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

// One rank resumes at step 1 instead of 0, and finishes one step before the others.
void missing_rank(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  const bool is_ahead = bug.is_planted() && rank.rank() == rank.world_size() / 2;
  for (int step = is_ahead ? 1 : 0; step < 4; ++step)
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
}

// The data does not divide evenly, and the last rank has one batch fewer.
void uneven_batches(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  std::int64_t batches = rank.rank() == rank.world_size() - 1 ? 3 : 4;
  if (!bug.is_planted()) rank.root()->all_reduce(view_of(batches), ReduceOperation::min);
  for (std::int64_t i = 0; i < batches; ++i)
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
}

// The last rank keeps its incomplete last batch, which all others drop.
void extra_batch(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  const bool keeps_last = bug.is_planted() && rank.rank() == rank.world_size() - 1;
  const int batches = keeps_last ? 5 : 4;
  for (int i = 0; i < batches; ++i)
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
}

// Only rank 0 evaluates, and the metric is a collective.
void evaluate_on_rank_0(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  if (rank.rank() == 0 || !bug.is_planted()) {
    double correct = 10.0 + rank.rank();
    rank.root()->all_reduce(view_of(correct), ReduceOperation::sum, {}, bug.here());
  }
}

void save_checkpoint(Gang& gang, CallSite call_site) { gang.barrier({}, call_site); }

// Saving ends in a barrier, which matches the one after it, so the hang shows up one barrier later.
void save_on_rank_0(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  if (rank.rank() == 0 || !bug.is_planted()) save_checkpoint(*rank.root(), bug.here());
  rank.root()->barrier();
}

// A rank whose batch is rejected takes the next one, and is one step ahead from then on.
void swallowed_error(Rank& rank, const PlantedBug& bug) {
  const auto size = static_cast<std::size_t>(rank.world_size());
  for (std::size_t step = 0; step < 3; ++step) {
    const bool is_short = bug.is_planted() && step == 1 && rank.rank() == 2;
    std::vector<float> logits(4, 1.0F);
    std::vector<float> gathered(is_short ? 4 * size - 1 : 4 * size);
    try {
      rank.root()->all_gather(view(gathered), view(logits), {}, bug.here());
    } catch (const InvalidArgument&) {
      continue;
    }
  }
}

// A rank polls for a message that was never sent.
void poll_for_message(Rank& rank, const PlantedBug& bug) {
  std::vector<std::int32_t> command(1, 7);
  const int last = rank.world_size() - 1;
  if (rank.rank() == 0 && !bug.is_planted()) rank.root()->send(view(command), last);
  if (rank.rank() != last) return;
  Work arriving = rank.root()->start_recv(view(command), 0, 0, {}, bug.here());
  while (!arriving.test()) {
  }
}

// A rank waits for a command or a cancellation, and neither arrives.
void wait_for_either(Rank& rank, const PlantedBug& bug) {
  constexpr int command_tag = 1;
  constexpr int cancel_tag = 2;
  std::vector<std::int32_t> command(1, 1);
  std::vector<std::int32_t> cancel(1, 2);
  if (rank.rank() == 0 && !bug.is_planted()) {
    rank.root()->send(view(command), 1, command_tag);
    rank.root()->send(view(cancel), 1, cancel_tag);
  }
  if (rank.rank() != 1) return;
  std::vector<Work> works;
  works.push_back(rank.root()->start_recv(view(command), 0, command_tag, {}, bug.here()));
  works.push_back(rank.root()->start_recv(view(cancel), 0, cancel_tag, {}, bug.here()));
  Work::wait_any(works);
  Work::wait_all(works);
}

// One peer takes an error path and omits its send, so the other's batch never completes.
void one_sided_batch(Rank& rank, const PlantedBug& bug) {
  std::vector<float> mine(4, 1.0F);
  std::vector<float> theirs(4);
  if (rank.rank() > 1) return;
  const int peer = 1 - rank.rank();
  std::vector<PointToPoint> exchange = {{OperationKind::recv, view(theirs), peer, 0}};
  const bool only_receives = bug.is_planted() && rank.rank() == 1;
  if (!only_receives) exchange.push_back({OperationKind::send, view(mine), peer, 0});
  if (only_receives) {
    rank.root()->recv(view(theirs), peer);
    return;
  }
  rank.root()->batch(exchange, {}, bug.here());
}

// Serves lookups in rank 0's store: each is a message there and one back.
void serve_store(Gang& store, int lookups) {
  std::int32_t value = 0;
  for (int i = 0; i < lookups; ++i) {
    const Received request = store.recv(view_of(value), any_rank);
    store.send(view_of(value), request.source_rank);
  }
}

// The store is a thread of rank 0 and ends with it, but the others need it once more to tear down.
void store_goes_first(Rank& rank, const PlantedBug& bug) {
  const auto store = rank.root()->split({.color = 0}, {.name = "store"});
  std::int32_t value = 0;
  const auto look_up = [&] {
    store->send(view_of(value), 0, 0, {}, bug.here());
    store->recv(view_of(value), 0);
  };
  if (rank.rank() != 0) {
    look_up();
    rank.root()->barrier();
    return look_up();
  }
  const int others = rank.world_size() - 1;
  auto server = rank.runtime().start_thread(
      "store", [&] { serve_store(*store, bug.is_planted() ? others : 2 * others); });
  rank.root()->barrier();
  server->join();
}

}  // namespace

std::vector<FaultyProgram> missing_participants() {
  namespace id = sim::finding_id;
  return {
      faulty("missing_rank", "a rank stops a step early", missing_rank, id::participant_missing,
             {2}),
      faulty("uneven_batches", "the last rank is a batch short", uneven_batches,
             id::participant_missing, {3}, {.seen_in = "pytorch#33148, pytorch#141069"}),
      faulty("extra_batch", "one rank keeps its last batch", extra_batch, id::uneven_iterations,
             {3},
             {.seen_in = "fairseq2#794, fairseq2 datasets/data_reader.py:24", .fewest_ranks = 3}),
      faulty("evaluate_on_rank_0", "a metric on one rank only", evaluate_on_rank_0,
             id::participant_missing, {0}, {.fewest_ranks = 3}),
      faulty("save_on_rank_0", "saving ends in a barrier", save_on_rank_0, id::participant_missing,
             {0}, {.seen_in = "autocast#386", .fewest_ranks = 3}),
      faulty("swallowed_error", "a rank skips a rejected batch", swallowed_error,
             id::participant_missing, {2}, {.fewest_ranks = 3}),
      faulty("poll_for_message", "polls for an unsent message", poll_for_message,
             id::participant_missing, {0}),
      faulty("wait_for_either", "neither of two messages arrives", wait_for_either,
             id::participant_missing, {0}, {.default_world_size = 2}),
      faulty("one_sided_batch", "one side's batch lacks a send", one_sided_batch,
             id::participant_missing, {1},
             {.seen_in = "nccl#2130, PiPPy#969", .default_world_size = 2}),
      faulty("store_goes_first", "rank 0 exits, with the store", store_goes_first,
             id::participant_missing, {0},
             {.seen_in = "pytorch#128096, pytorch#123969, pytorch#69520"})};
}

}  // namespace gang::harness
