// Errors on one rank that the others never hear of, and ranks that come too late.
#include <atomic>
#include <stdexcept>

#include "gang/agreement.h"
#include "gang/error.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

void download(bool is_reachable) {
  if (!is_reachable) throw std::runtime_error("the model hub cannot be reached");
}

// Rank 0 downloads while all wait at a barrier; its error is told to nobody.
void download_fails(Rank& rank, const Fault& fault) {
  bool is_cached = true;
  if (rank.rank() == 0) {
    try {
      download(false);
    } catch (const std::runtime_error&) {
      if (fault.is_planted()) throw;
      is_cached = false;
    }
  }
  if (fault.is_planted()) return rank.root()->barrier({}, fault.here());
  is_cached = broadcast_flag(*rank.root(), is_cached);
  if (!is_cached) rank.root()->barrier();
}

// One rank runs out of memory in its longest batch; no one aborts the gang.
void out_of_memory(Rank& rank, const Fault& fault) {
  std::vector<float> gradient(8, 1.0F);
  for (int step = 0; step < 3; ++step) {
    const bool is_too_long = fault.is_planted() && step == 1 && rank.rank() == 2;
    if (is_too_long) throw std::runtime_error("out of memory: 2 GiB for a batch of 70,000 tokens");
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, fault.here());
  }
}

// Rank 0 alone has the scores, and it alone fails where there are none.
void no_scores_on_root(Rank& rank, const Fault& fault) {
  const std::vector<double> scores =
      fault.is_planted() ? std::vector<double>{} : std::vector<double>{0.5};
  if (rank.rank() == 0 && scores.empty()) throw std::logic_error("no score to compare");
  broadcast_flag(*rank.root(), rank.rank() == 0 && scores.front() > 0.4, 0, fault.here());
}

// The exporter's error comes out where its future is asked: on rank 0.
void export_fails(Rank& rank, const Fault& fault) {
  if (rank.rank() == 0) {
    auto exporter = rank.runtime().start_thread("exporter", [&fault] {
      if (fault.is_planted()) throw std::runtime_error("disk full");
    });
    exporter->join();
  }
  rank.root()->barrier({}, fault.here());
}

// A tensor on a device that the gang is not on: refused on the rank that has it.
void wrong_device(Rank& rank, const Fault& fault) {
  std::vector<float> weights(4, 1.0F);
  const bool is_mapped_wrong = fault.is_planted() && rank.rank() == 1;
  const Device device = is_mapped_wrong ? Device{DeviceType::cuda, 0} : Device{};
  rank.root()->broadcast(TensorView{weights.data(), DataType::f32, Shape::vector(4), device}, 0, {},
                         fault.here());
}

// Rank 0 tokenizes for an hour; the others' barrier gives up after 15 minutes.
void tokenize_on_rank_0(Rank& rank, const Fault& fault) {
  if (rank.rank() == 0) rank.runtime().sleep_for(std::chrono::hours(1));
  CallOptions options;
  if (!fault.is_planted()) options.timeout = no_timeout;
  rank.root()->barrier(options, fault.here());
}

// One rank looks every ten seconds for a file that another run writes the next day.
void wait_for_file(Rank& rank, const Fault& fault) {
  if (rank.rank() == 1) {
    const int looks = fault.is_planted() ? 8640 : 3;
    for (int i = 0; i < looks; ++i) rank.runtime().sleep_for(std::chrono::seconds(10));
  }
  std::vector<float> gradient(8, 1.0F);
  rank.root()->all_reduce(view(gradient), ReduceOperation::mean, {}, fault.here());
}

// The heartbeat of a rank goes on for days while its trainer, and everybody else, hangs.
void heartbeat(Rank& rank, const Fault& fault) {
  std::atomic<bool> is_over = false;
  auto beating = rank.runtime().start_thread("heartbeat", [&] {
    const int beats = rank.rank() == 0 ? 10'000 : 1;
    for (int i = 0; i < beats && !is_over; ++i)
      rank.runtime().sleep_for(std::chrono::milliseconds(20));
  });
  const bool is_out = fault.is_planted() && rank.rank() == 1;
  if (!is_out) rank.root()->barrier({}, fault.here());
  is_over = true;
  beating->join();
}

// Two stragglers miss a monitored barrier, which names both.
void stragglers(Rank& rank, const Fault& fault) {
  const bool is_late = rank.rank() >= 2 && rank.rank() < 4;
  if (is_late) rank.runtime().sleep_for(std::chrono::seconds(5));
  const Duration patience = fault.is_planted() ? std::chrono::seconds(1) : std::chrono::minutes(1);
  rank.root()->monitored_barrier(patience, Gang::MissingRanks::all, {}, fault.here());
}

// Rank 0, to whom all report at a monitored barrier, is itself the one who is late.
void late_leader(Rank& rank, const Fault& fault) {
  if (rank.rank() == 0) rank.runtime().sleep_for(std::chrono::seconds(5));
  const Duration patience = fault.is_planted() ? std::chrono::seconds(1) : std::chrono::minutes(1);
  rank.root()->monitored_barrier(patience, Gang::MissingRanks::all, {}, fault.here());
}

// A rank tries again on a gang that is broken, while the others have given up.
void retry_alone(Rank& rank, const Fault& fault) {
  std::vector<float> gradient(8, 1.0F);
  if (rank.rank() == 1) rank.runtime().sleep_for(std::chrono::minutes(2));
  CallOptions options;
  options.timeout = fault.is_planted() ? std::chrono::minutes(1) : std::chrono::minutes(5);
  try {
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean, options, fault.here());
  } catch (const GangError&) {
    if (rank.rank() != 0) throw;
    rank.root()->all_reduce(view(gradient), ReduceOperation::mean);
  }
}

// Rank 0 is done, and takes the gang down under the others.
void abort_too_early(Rank& rank, const Fault& fault) {
  std::vector<float> weights(4, 1.0F);
  rank.root()->broadcast(view(weights), 0, {}, fault.here());
  if (rank.rank() != 0) rank.runtime().sleep_for(std::chrono::seconds(1));
  if (rank.rank() == 0 && fault.is_planted()) rank.root()->abort();
  rank.root()->barrier();
}

std::vector<FaultyProgram> ranks_that_throw() {
  namespace id = sim::finding_id;
  return {{.name = "download_fails",
           .description = "rank 0 throws before a barrier",
           .seen_in = "fairseq2 models/family.py:567",
           .body = download_fails,
           .finding = id::rank_failed,
           .ranks = {0}},
          {.name = "out_of_memory",
           .description = "a rank throws between calls",
           .seen_in = "fairseq2 trainer.py:590",
           .body = out_of_memory,
           .finding = id::rank_failed,
           .ranks = {2},
           .fewest_ranks = 3},
          {.name = "no_scores_on_root",
           .description = "an error on the root alone",
           .seen_in = "fairseq2 validator.py:362",
           .body = no_scores_on_root,
           .finding = id::rank_failed,
           .ranks = {0}},
          {.name = "export_fails",
           .description = "a thread of rank 0 throws",
           .seen_in = "fairseq2 checkpoint/hg.py:180",
           .body = export_fails,
           .finding = id::rank_failed,
           .ranks = {0}},
          {.name = "wrong_device",
           .description = "a tensor on another device",
           .body = wrong_device,
           .finding = id::rank_failed,
           .ranks = {1}},
          {.name = "abort_too_early",
           .description = "rank 0 aborts under the others",
           .body = abort_too_early,
           .finding = id::rank_failed,
           .ranks = {0}}};
}

std::vector<FaultyProgram> ranks_that_are_late() {
  namespace id = sim::finding_id;
  return {{.name = "tokenize_on_rank_0",
           .description = "an hour's work, then a barrier",
           .body = tokenize_on_rank_0,
           .finding = id::timed_out,
           .ranks = {0}},
          {.name = "wait_for_file",
           .description = "sleeps until a file is there",
           .body = wait_for_file,
           .finding = id::timed_out,
           .ranks = {1}},
          {.name = "heartbeat",
           .description = "a timer runs on in a hang",
           .body = heartbeat,
           .finding = id::participant_missing,
           .ranks = {1},
           .options = {{"find-partial", "true"}}},
          {.name = "stragglers",
           .description = "two miss a monitored barrier",
           .body = stragglers,
           .finding = id::timed_out,
           .ranks = {2, 3},
           .default_world_size = 6,
           .fewest_ranks = 4},
          {.name = "late_leader",
           .description = "rank 0 misses its own monitor",
           .body = late_leader,
           .finding = id::timed_out,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "retry_alone",
           .description = "tries again on a broken gang",
           .body = retry_alone,
           .finding = id::timed_out,
           .ranks = {1}}};
}

}  // namespace

std::vector<FaultyProgram> failing_ranks() {
  std::vector<FaultyProgram> all = ranks_that_throw();
  for (FaultyProgram& late : ranks_that_are_late()) all.push_back(std::move(late));
  return all;
}

}  // namespace gang::harness
