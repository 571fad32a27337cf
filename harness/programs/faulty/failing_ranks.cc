// Errors on one rank that the others never learn of, and ranks that arrive too late.
#include <atomic>
#include <stdexcept>

#include "gang/agreement.h"
#include "gang/error.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

void download(bool is_reachable) {
  if (!is_reachable) throw std::runtime_error("the model hub cannot be reached");
}

// Rank 0 downloads while all others wait at a barrier, and does not tell them that it failed.
void download_fails(Rank& rank, const PlantedBug& bug) {
  bool is_cached = true;
  if (rank.rank() == 0) {
    try {
      download(false);
    } catch (const std::runtime_error&) {
      if (bug.is_planted()) throw;
      is_cached = false;
    }
  }
  if (bug.is_planted()) return rank.root()->barrier({}, bug.here());
  is_cached = broadcast_flag(*rank.root(), is_cached);
  if (!is_cached) rank.root()->barrier();
}

// One rank runs out of memory in its longest batch, and nothing aborts the gang.
void out_of_memory(Rank& rank, const PlantedBug& bug) {
  std::vector<float> gradient(8, 1.0F);
  for (int step = 0; step < 3; ++step) {
    const bool is_too_long = bug.is_planted() && step == 1 && rank.rank() == 2;
    if (is_too_long) throw std::runtime_error("out of memory: 2 GiB for a batch of 70,000 tokens");
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
  }
}

// Only rank 0 has the scores, so only rank 0 fails when there are none.
void no_scores_on_root(Rank& rank, const PlantedBug& bug) {
  const std::vector<double> scores =
      bug.is_planted() ? std::vector<double>{} : std::vector<double>{0.5};
  if (rank.rank() == 0 && scores.empty()) throw std::logic_error("no score to compare");
  broadcast_flag(*rank.root(), rank.rank() == 0 && scores.front() > 0.4, 0, bug.here());
}

// The exporter's error surfaces where its thread is joined: on rank 0.
void export_fails(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() == 0) {
    auto exporter = rank.runtime().start_thread("exporter", [&bug] {
      if (bug.is_planted()) throw std::runtime_error("disk full");
    });
    exporter->join();
  }
  rank.root()->barrier({}, bug.here());
}

// One rank's tensor is on another device than the gang, and is rejected there.
void wrong_device(Rank& rank, const PlantedBug& bug) {
  std::vector<float> weights(4, 1.0F);
  const bool is_mapped_wrong = bug.is_planted() && rank.rank() == 1;
  const Device device = is_mapped_wrong ? Device{DeviceType::cuda, 0} : Device{};
  rank.root()->broadcast(TensorView{weights.data(), DataType::f32, Shape::vector(4), device}, 0, {},
                         bug.here());
}

// Rank 0 tokenizes for an hour; the others' barrier times out after 15 minutes.
void tokenize_on_rank_0(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() == 0) rank.runtime().sleep_for(std::chrono::hours(1));
  CallOptions options;
  if (!bug.is_planted()) options.timeout = no_timeout;
  rank.root()->barrier(options, bug.here());
}

// One rank checks every ten seconds for a file that another run writes the next day.
void wait_for_file(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() == 1) {
    const int looks = bug.is_planted() ? 8640 : 3;
    for (int i = 0; i < looks; ++i) rank.runtime().sleep_for(std::chrono::seconds(10));
  }
  std::vector<float> gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
}

// A rank's heartbeat keeps beating while its trainer and all other ranks hang.
void heartbeat(Rank& rank, const PlantedBug& bug) {
  std::atomic<bool> is_over = false;
  auto beating = rank.runtime().start_thread("heartbeat", [&] {
    const int beats = rank.rank() == 0 ? 10'000 : 1;
    for (int i = 0; i < beats && !is_over; ++i)
      rank.runtime().sleep_for(std::chrono::milliseconds(20));
  });
  const bool is_out = bug.is_planted() && rank.rank() == 1;
  if (!is_out) rank.root()->barrier({}, bug.here());
  is_over = true;
  beating->join();
}

// Two stragglers miss a monitored barrier, which names both.
void stragglers(Rank& rank, const PlantedBug& bug) {
  const bool is_late = rank.rank() >= 2 && rank.rank() < 4;
  if (is_late) rank.runtime().sleep_for(std::chrono::seconds(5));
  const Duration patience = bug.is_planted() ? std::chrono::seconds(1) : std::chrono::minutes(1);
  rank.root()->monitored_barrier(patience, Gang::MissingRanks::all, {}, bug.here());
}

// Rank 0, to which all report at a monitored barrier, is itself late.
void late_leader(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() == 0) rank.runtime().sleep_for(std::chrono::seconds(5));
  const Duration patience = bug.is_planted() ? std::chrono::seconds(1) : std::chrono::minutes(1);
  rank.root()->monitored_barrier(patience, Gang::MissingRanks::all, {}, bug.here());
}

// A rank retries on a broken gang after the others have given up.
void retry_alone(Rank& rank, const PlantedBug& bug) {
  std::vector<float> gradient(8, 1.0F);
  if (rank.rank() == 1) rank.runtime().sleep_for(std::chrono::minutes(2));
  CallOptions options;
  options.timeout = bug.is_planted() ? std::chrono::minutes(1) : std::chrono::minutes(5);
  try {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, options, bug.here());
  } catch (const GangError&) {
    if (rank.rank() != 0) throw;
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  }
}

// Rank 0 is done and aborts the gang while the others still use it.
void abort_too_early(Rank& rank, const PlantedBug& bug) {
  std::vector<float> weights(4, 1.0F);
  rank.root()->broadcast(view(weights), 0, {}, bug.here());
  if (rank.rank() != 0) rank.runtime().sleep_for(std::chrono::seconds(1));
  if (rank.rank() == 0 && bug.is_planted()) rank.root()->abort();
  rank.root()->barrier();
}

std::vector<FaultyProgram> ranks_that_throw() {
  namespace id = sim::finding_id;
  return {
      faulty("download_fails", "rank 0 throws before a barrier", download_fails, id::rank_failed,
             {0}, {.seen_in = "fairseq2 models/family.py:567"}),
      faulty("out_of_memory", "a rank throws between calls", out_of_memory, id::rank_failed, {2},
             {.seen_in = "fairseq2 trainer.py:590", .fewest_ranks = 3}),
      faulty("no_scores_on_root", "an error on the root only", no_scores_on_root, id::rank_failed,
             {0}, {.seen_in = "fairseq2 validator.py:362"}),
      faulty("export_fails", "a thread of rank 0 throws", export_fails, id::rank_failed, {0},
             {.seen_in = "fairseq2 checkpoint/hg.py:180"}),
      faulty("wrong_device", "a tensor on the wrong device", wrong_device, id::rank_failed, {1}),
      faulty("abort_too_early", "rank 0 aborts a gang in use", abort_too_early, id::rank_failed,
             {0})};
}

std::vector<FaultyProgram> ranks_that_are_late() {
  namespace id = sim::finding_id;
  return {faulty("tokenize_on_rank_0", "an hour's work, then a barrier", tokenize_on_rank_0,
                 id::timed_out, {0}),
          faulty("wait_for_file", "sleeps until a file appears", wait_for_file, id::timed_out, {1}),
          faulty("heartbeat", "a timer keeps running in a hang", heartbeat, id::participant_missing,
                 {1}, {.options = {{"find-partial", "true"}}}),
          faulty("stragglers", "two miss a monitored barrier", stragglers, id::timed_out, {2, 3},
                 {.default_world_size = 6, .fewest_ranks = 4}),
          faulty("late_leader", "rank 0 is late to its barrier", late_leader, id::timed_out, {0},
                 {.fewest_ranks = 3}),
          faulty("retry_alone", "retries on a broken gang", retry_alone, id::timed_out, {1})};
}

}  // namespace

std::vector<FaultyProgram> failing_ranks() {
  std::vector<FaultyProgram> all = ranks_that_throw();
  for (FaultyProgram& late : ranks_that_are_late()) all.push_back(std::move(late));
  return all;
}

}  // namespace gang::harness
