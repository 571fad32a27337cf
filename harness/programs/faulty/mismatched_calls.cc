// The k-th calls of a gang's members are not the same call.
#include "gang/agreement.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

// The loss is reduced inside "if rank 0: log", while the others are in the next step.
void log_on_rank_0(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  float loss = 2.0F;
  for (int step = 0; step < 4; ++step) {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
    const bool logs = step % 2 == 0 && (rank.rank() == 0 || !fault.is_planted());
    if (logs) rank.root()->reduce(view_of(loss), ReduceOperation::mean, 0, {}, fault.here());
  }
}

// "if targets > 0" around a collective: the rank whose batch is empty does not come to it.
void empty_batch(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  const int targets = rank.rank() == 3 ? 0 : 100;
  if (targets > 0 || !fault.is_planted()) all_sum(*rank.root(), targets);
  rank.root()->all_reduce(view(gradient), ReduceOperation::sum, {}, fault.here());
}

// A stop request is known to one rank alone, which goes on to the final barrier.
void stop_signal(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  for (int step = 0; step < 4; ++step) {
    std::int32_t is_stopped = rank.rank() == 1 && step == 2 ? 1 : 0;
    if (!fault.is_planted()) rank.root()->all_reduce(view_of(is_stopped), ReduceOperation::max);
    if (is_stopped != 0) break;
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  }
  rank.root()->barrier({}, fault.here());
}

// Each rank looks for the checkpoint itself, and one does not see it yet.
void resume_by_listing(Rank& rank, const Fault& fault) {
  bool is_there = rank.rank() != 2;
  if (!fault.is_planted()) is_there = broadcast_flag(*rank.root(), is_there);
  std::vector<float> weights(16, 1.0F);
  if (is_there) rank.root()->broadcast(view(weights));
  rank.root()->all_reduce(view(weights), ReduceOperation::mean, {}, fault.here());
}

// A barrier meets another barrier: their labels tell them apart.
void barrier_off_by_one(Rank& rank, const Fault& fault) {
  if (rank.rank() == 0 || !fault.is_planted()) {
    rank.root()->barrier({.label = "checkpoint saved"}, fault.here());
  }
  rank.root()->barrier({.label = "end of training"});
}

// One rank calls reduce, where the others keep the result everywhere.
void reduce_to_one(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  if (fault.is_planted() && rank.rank() == 1) {
    rank.root()->reduce(view(gradient), ReduceOperation::sum, 1, {}, fault.here());
  } else {
    rank.root()->all_reduce(view(gradient), ReduceOperation::sum);
  }
}

// A port from a stricter system, in which a blocking call does not match a started one.
void strict_port(Rank& rank, const Fault& fault) {
  Gradient gradient(8, 1.0F);
  if (fault.is_planted() && rank.rank() == 2) {
    rank.root()->start_all_reduce(view(gradient), ReduceOperation::sum, {}, fault.here()).wait();
  } else {
    rank.root()->all_reduce(view(gradient), ReduceOperation::sum);
  }
}

// dp and sdp have the same members; one rank reduces over the other one.
void dp_or_sdp(Rank& rank, const Fault& fault) {
  std::vector<int> all;
  for (int i = 0; i < rank.world_size(); ++i) all.push_back(i);
  const auto dp = rank.root()->create_gang(all, {.name = "dp"});
  const auto sdp = rank.root()->create_gang(all, {.name = "sdp"});
  Gradient gradient(8, 1.0F);
  const bool is_mixed_up = fault.is_planted() && rank.rank() == 1;
  (is_mixed_up ? sdp : dp)->all_reduce(view(gradient), ReduceOperation::sum, {}, fault.here());
}

}  // namespace

std::vector<FaultyProgram> mismatched_calls() {
  namespace id = sim::finding_id;
  return {{.name = "log_on_rank_0",
           .description = "logging is a collective",
           .body = log_on_rank_0,
           .finding = id::mismatch_operation,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "empty_batch",
           .description = "a guard around a collective",
           .seen_in = "fairseq2 trainer.py:599",
           .body = empty_batch,
           .finding = id::mismatch_data_type,
           .ranks = {3},
           .fewest_ranks = 4},
          {.name = "stop_signal",
           .description = "one rank hears the stop signal",
           .seen_in = "fairseq2#679, fairseq2 recipe/internal/task.py:38",
           .body = stop_signal,
           .finding = id::mismatch_operation,
           .ranks = {1},
           .fewest_ranks = 3},
          {.name = "resume_by_listing",
           .description = "one rank sees no checkpoint",
           .seen_in = "KempnerForge#49, fairseq2 trainer.py:363",
           .body = resume_by_listing,
           .finding = id::mismatch_operation,
           .ranks = {2},
           .fewest_ranks = 3},
          {.name = "reduce_to_one",
           .description = "reduce meets all_reduce",
           .body = reduce_to_one,
           .finding = id::mismatch_operation,
           .ranks = {1},
           .fewest_ranks = 3},
          {.name = "barrier_off_by_one",
           .description = "a barrier meets the next one",
           .body = barrier_off_by_one,
           .finding = id::mismatch_label,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "strict_port",
           .description = "start_ meets a blocking call",
           .body = strict_port,
           .finding = id::mismatch_blocking,
           .ranks = {2},
           .fewest_ranks = 3,
           .options = {{"strict-blocking", "true"}}},
          {.name = "dp_or_sdp",
           .description = "the other gang, equal members",
           .body = dp_or_sdp,
           .finding = id::mismatch_gang,
           .ranks = {1},
           .fewest_ranks = 3}};
}

}  // namespace gang::harness
