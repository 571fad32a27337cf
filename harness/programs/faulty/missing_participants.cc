// Somebody does not come: a rank returns, leaves its loop, or goes another way than the others.
#include "gang/agreement.h"
#include "gang/error.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

// One rank resumes at step 1 instead of 0, and is done a step before the others.
void missing_rank(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  const bool is_ahead = fault.is_planted() && rank.rank() == rank.world_size() / 2;
  for (int step = is_ahead ? 1 : 0; step < 4; ++step) {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, fault.here());
  }
}

// The data do not divide by the ranks, and the last one has a batch less.
void uneven_batches(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  std::int64_t batches = rank.rank() == rank.world_size() - 1 ? 3 : 4;
  if (!fault.is_planted()) rank.root()->all_reduce(view_of(batches), ReduceOperation::min);
  for (std::int64_t i = 0; i < batches; ++i) {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, fault.here());
  }
}

// The last rank's data end with a batch that is not full, and it alone does not drop that one.
void extra_batch(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  const bool keeps_last = fault.is_planted() && rank.rank() == rank.world_size() - 1;
  const int batches = keeps_last ? 5 : 4;
  for (int i = 0; i < batches; ++i)
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, fault.here());
}

// Only rank 0 evaluates, and the metric is a collective.
void evaluate_on_rank_0(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  if (rank.rank() == 0 || !fault.is_planted()) {
    double correct = 10.0 + rank.rank();
    rank.root()->all_reduce(view_of(correct), ReduceOperation::sum, {}, fault.here());
  }
}

void save_checkpoint(Gang& gang) { gang.barrier(); }

// Saving ends in a barrier, which meets the one after it; the hang comes where nobody looks.
void save_on_rank_0(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  if (rank.rank() == 0 || !fault.is_planted()) save_checkpoint(*rank.root());
  rank.root()->barrier({}, fault.here());
}

// A rank whose batch is refused takes the next one, and is a step ahead from there on.
void swallowed_error(Rank& rank, const Fault& fault) {
  const auto size = static_cast<std::size_t>(rank.world_size());
  for (std::size_t step = 0; step < 3; ++step) {
    const bool is_short = fault.is_planted() && step == 1 && rank.rank() == 2;
    std::vector<float> logits(4, 1.0F);
    std::vector<float> gathered(is_short ? 4 * size - 1 : 4 * size);
    try {
      rank.root()->all_gather(view(gathered), view(logits), {}, fault.here());
    } catch (const InvalidArgument&) {
      continue;
    }
  }
}

// A rank polls for a message that was never sent.
void poll_for_message(Rank& rank, const Fault& fault) {
  std::vector<std::int32_t> command(1, 7);
  const int last = rank.world_size() - 1;
  if (rank.rank() == 0 && !fault.is_planted()) rank.root()->send(view(command), last);
  if (rank.rank() != last) return;
  Work arriving = rank.root()->start_recv(view(command), 0, 0, {}, fault.here());
  while (!arriving.test()) {
  }
}

// Neither the command nor the cancellation that a rank waits for will come.
void wait_for_either(Rank& rank, const Fault& fault) {
  constexpr int command_tag = 1;
  constexpr int cancel_tag = 2;
  std::vector<std::int32_t> command(1, 1);
  std::vector<std::int32_t> cancel(1, 2);
  if (rank.rank() == 0 && !fault.is_planted()) {
    rank.root()->send(view(command), 1, command_tag);
    rank.root()->send(view(cancel), 1, cancel_tag);
  }
  if (rank.rank() != 1) return;
  std::vector<Work> works;
  works.push_back(rank.root()->start_recv(view(command), 0, command_tag, {}, fault.here()));
  works.push_back(rank.root()->start_recv(view(cancel), 0, cancel_tag, {}, fault.here()));
  Work::wait_any(works);
  Work::wait_all(works);
}

// The peer of one message leaves after its error path, and the batch is never whole.
void one_sided_batch(Rank& rank, const Fault& fault) {
  std::vector<float> mine(4, 1.0F);
  std::vector<float> theirs(4);
  if (rank.rank() > 1) return;
  const int peer = 1 - rank.rank();
  std::vector<PointToPoint> exchange = {{OperationKind::recv, view(theirs), peer, 0}};
  const bool only_receives = fault.is_planted() && rank.rank() == 1;
  if (!only_receives) exchange.push_back({OperationKind::send, view(mine), peer, 0});
  if (only_receives) {
    rank.root()->recv(view(theirs), peer);
    return;
  }
  rank.root()->batch(exchange, {}, fault.here());
}

// What the others keep in rank 0's store: every look is a message there and one back.
void serve_store(Gang& store, int looks) {
  std::int32_t value = 0;
  for (int i = 0; i < looks; ++i) {
    const Received request = store.recv(view_of(value), any_rank);
    store.send(view_of(value), request.source_rank);
  }
}

// The store is a thread of rank 0 and goes with it; the others look into it again to tear down.
void store_goes_first(Rank& rank, const Fault& fault) {
  const auto store = rank.root()->split({.color = 0}, {.name = "store"});
  std::int32_t value = 0;
  const auto look = [&] {
    store->send(view_of(value), 0, 0, {}, fault.here());
    store->recv(view_of(value), 0);
  };
  if (rank.rank() != 0) {
    look();
    rank.root()->barrier();
    return look();
  }
  const int others = rank.world_size() - 1;
  auto server = rank.runtime().start_thread(
      "store", [&] { serve_store(*store, fault.is_planted() ? others : 2 * others); });
  rank.root()->barrier();
  server->join();
}

}  // namespace

std::vector<FaultyProgram> missing_participants() {
  namespace id = sim::finding_id;
  return {{.name = "missing_rank",
           .description = "a rank stops a step early",
           .body = missing_rank,
           .finding = id::participant_missing,
           .ranks = {2}},
          {.name = "uneven_batches",
           .description = "the last rank has a batch less",
           .seen_in = "pytorch#33148, pytorch#141069",
           .body = uneven_batches,
           .finding = id::participant_missing,
           .ranks = {3}},
          {.name = "extra_batch",
           .description = "one rank keeps its last batch",
           .seen_in = "fairseq2#794, fairseq2 datasets/data_reader.py:24",
           .body = extra_batch,
           .finding = id::uneven_iterations,
           .ranks = {3},
           .fewest_ranks = 3},
          {.name = "evaluate_on_rank_0",
           .description = "a metric on one rank only",
           .body = evaluate_on_rank_0,
           .finding = id::participant_missing,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "save_on_rank_0",
           .description = "saving ends in a barrier",
           .seen_in = "autocast#386",
           .body = save_on_rank_0,
           .finding = id::participant_missing,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "swallowed_error",
           .description = "a rank skips a refused batch",
           .body = swallowed_error,
           .finding = id::participant_missing,
           .ranks = {2},
           .fewest_ranks = 3},
          {.name = "poll_for_message",
           .description = "tests for what is never sent",
           .body = poll_for_message,
           .finding = id::participant_missing,
           .ranks = {0}},
          {.name = "wait_for_either",
           .description = "neither of two messages comes",
           .body = wait_for_either,
           .finding = id::participant_missing,
           .ranks = {0},
           .default_world_size = 2},
          {.name = "one_sided_batch",
           .description = "one side's batch lacks a send",
           .seen_in = "nccl#2130, PiPPy#969",
           .body = one_sided_batch,
           .finding = id::participant_missing,
           .ranks = {1},
           .default_world_size = 2},
          {.name = "store_goes_first",
           .description = "rank 0 ends, with the store",
           .seen_in = "pytorch#128096, pytorch#123969, pytorch#69520",
           .body = store_goes_first,
           .finding = id::participant_missing,
           .ranks = {0}}};
}

}  // namespace gang::harness
