// Making gangs is collective over the parent: all of its members, one order, one list.
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report.h"

namespace gang::harness {
namespace {

// Each rank makes only the gang that it will use.
void own_gang_only(Rank& rank, const Fault& fault) {
  const int half = rank.world_size() / 2;
  std::vector<int> lower;
  std::vector<int> upper;
  for (int i = 0; i < half; ++i) lower.push_back(i);
  for (int i = half; i < 2 * half; ++i) upper.push_back(i);
  if (fault.is_planted()) {
    rank.root()->create_gang(rank.rank() < half ? lower : upper, {}, fault.here());
    return;
  }
  rank.root()->create_gang(lower);
  rank.root()->create_gang(upper);
}

// One rank makes the tensor gangs before the data gangs.
void tp_before_dp(Rank& rank, const Fault& fault) {
  const std::vector<int> dp = {0, 2};
  const std::vector<int> tp = {1, 3};
  const bool swaps = fault.is_planted() && rank.rank() == 1;
  rank.root()->create_gang(swaps ? tp : dp, {}, fault.here());
  rank.root()->create_gang(swaps ? dp : tp);
}

// The nodes' lists of ranks come from two files, one of which is old.
void old_rank_list(Rank& rank, const Fault& fault) {
  const bool is_old = fault.is_planted() && rank.rank() == 3;
  const std::vector<int> workers =
      is_old ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1, 2, 3};
  rank.root()->create_gang(workers, {}, fault.here());
}

// Only the members make the gang; who is not in it goes on to the barrier.
void members_only(Rank& rank, const Fault& fault) {
  const int outsider = rank.world_size() - 1;
  std::vector<int> workers;
  for (int i = 0; i < outsider; ++i) workers.push_back(i);
  if (rank.rank() != outsider || !fault.is_planted()) rank.root()->create_gang(workers);
  rank.root()->barrier({}, fault.here());
}

// The evaluator needs no gang of its own, and returns before the others split.
void split_without_one(Rank& rank, const Fault& fault) {
  const bool evaluates = rank.rank() == 0;
  if (evaluates && fault.is_planted()) return;
  rank.root()->split({.color = evaluates ? no_color : rank.rank() % 2}, {}, fault.here());
}

// The mesh is numbered within dp where ranks of the root are wanted: right only where dp is all.
void mesh_of_dp_ranks(Rank& rank, const Fault& fault) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  const int tp_rank = gangs.tp->rank();
  std::shared_ptr<Gang> shards;
  for (int line = 0; line < 2; ++line) {
    std::vector<int> ranks;
    for (int i = 0; i < gangs.dp->size(); ++i)
      ranks.push_back(fault.is_planted() ? (i + line * gangs.dp->size()) : 2 * i + line);
    const auto gang = rank.root()->create_gang(ranks);
    if (gang) shards = gang;
  }
  std::int32_t parameter = tp_rank;
  shards->all_reduce(view_of(parameter), ReduceOperation::sum);
  if (parameter != tp_rank * shards->size())
    rank.wrong_result("The shards of two tensor-parallel ranks were added up.");
}

}  // namespace

std::vector<FaultyProgram> group_creation() {
  namespace id = sim::finding_id;
  return {{.name = "own_gang_only",
           .description = "each rank makes its own gang",
           .body = own_gang_only,
           .finding = id::group_creation_order,
           .ranks = {0, 1, 2, 3},
           .fewest_ranks = 4,
           .world_step = 2},
          {.name = "tp_before_dp",
           .description = "gangs made in another order",
           .body = tp_before_dp,
           .finding = id::group_creation_order,
           .ranks = {1},
           .fewest_ranks = 4},
          {.name = "old_rank_list",
           .description = "one rank's list is shorter",
           .body = old_rank_list,
           .finding = id::mismatch_ranks,
           .ranks = {3},
           .fewest_ranks = 4},
          {.name = "members_only",
           .description = "only members make the gang",
           .body = members_only,
           .finding = id::mismatch_operation,
           .ranks = {3},
           .fewest_ranks = 3},
          {.name = "split_without_one",
           .description = "one rank does not split",
           .body = split_without_one,
           .finding = id::participant_missing,
           .ranks = {0}},
          {.name = "mesh_of_dp_ranks",
           .description = "ranks of dp, taken for root's",
           .body = mesh_of_dp_ranks,
           .finding = id::wrong_result,
           .ranks = {0, 1, 2, 3},
           .fewest_ranks = 4,
           .world_step = 4,
           .has_location = false}};
}

}  // namespace gang::harness
