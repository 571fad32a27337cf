// Gangs used or kept for too long, and runs that do not repeat.
#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

// The trainer closes its gangs, and then the validator reduces one more metric.
void closed_before_use(Rank& rank, const PlantedBug& bug) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  float loss = 1.0F;
  gangs.tp->all_reduce(view_of(loss), ReduceOperation::mean);
  if (bug.is_planted() && rank.rank() == 0) gangs.tp->close();
  gangs.tp->all_reduce(view_of(loss), ReduceOperation::mean, {}, bug.here());
  gangs.tp->close();
}

// A process-wide cache keeps the trainer and its gang, which is never closed.
void cached_gang(Rank& rank, const PlantedBug& bug) {
  rank.root()->barrier({}, bug.here());
  if (bug.is_planted() && rank.rank() < 2) bug.keep(rank.root());
}

// One rank takes its tags from a process-wide counter, which keeps counting from run to run.
void leftover_state(Rank& rank, const PlantedBug& bug) {
  std::int32_t request = 1;
  if (rank.rank() == 1) {
    const int tag = bug.is_planted() ? bug.count_up() : 0;
    rank.root()->send(view_of(request), 0, tag, {}, bug.here());
  }
  if (rank.rank() == 0) rank.root()->recv(view_of(request), 1, any_tag);
  rank.root()->barrier();
}

}  // namespace

std::vector<FaultyProgram> lifetimes() {
  namespace id = sim::finding_id;
  return {faulty("closed_before_use", "a call after close", closed_before_use, id::use_after_close,
                 {0}, {.world_step = 2}),
          faulty("cached_gang", "a gang that is never closed", cached_gang, id::gang_not_closed,
                 {0, 1}),
          faulty("leftover_state", "two runs differ", leftover_state, id::nondeterminism, {1},
                 {.options = {{"schedule", "recheck"}}})};
}

}  // namespace gang::harness
