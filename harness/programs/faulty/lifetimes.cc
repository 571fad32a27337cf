// Gangs that are used for too long or kept for too long, and runs that do not repeat.
#include "gang/agreement.h"
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

// The trainer closes its gangs, and the validator reduces one metric more.
void closed_before_use(Rank& rank, const Fault& fault) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  float loss = 1.0F;
  gangs.tp->all_reduce(view_of(loss), ReduceOperation::mean);
  if (fault.is_planted() && rank.rank() == 0) gangs.tp->close();
  gangs.tp->all_reduce(view_of(loss), ReduceOperation::mean, {}, fault.here());
  gangs.tp->close();
}

// The trainer is in a cache of the process, and its gang with it: nobody closes that.
void cached_gang(Rank& rank, const Fault& fault) {
  rank.root()->barrier({}, fault.here());
  if (fault.is_planted() && rank.rank() < 2) fault.keep(rank.root());
}

// One rank takes its tags from a counter of the process, which goes on from run to run.
void leftover_state(Rank& rank, const Fault& fault) {
  std::int32_t request = 1;
  if (rank.rank() == 1) {
    const int tag = fault.is_planted() ? fault.count_up() : 0;
    rank.root()->send(view_of(request), 0, tag, {}, fault.here());
  }
  if (rank.rank() == 0) rank.root()->recv(view_of(request), 1, any_tag);
  rank.root()->barrier();
}

}  // namespace

std::vector<FaultyProgram> lifetimes() {
  namespace id = sim::finding_id;
  return {{.name = "closed_before_use",
           .description = "a call after close",
           .body = closed_before_use,
           .finding = id::use_after_close,
           .ranks = {0},
           .world_step = 2},
          {.name = "cached_gang",
           .description = "a gang that is never closed",
           .body = cached_gang,
           .finding = id::gang_not_closed,
           .ranks = {0, 1}},
          {.name = "leftover_state",
           .description = "two runs are not the same",
           .body = leftover_state,
           .finding = id::nondeterminism,
           .ranks = {1},
           .options = {{"schedule", "recheck"}}}};
}

}  // namespace gang::harness
