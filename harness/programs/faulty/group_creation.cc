// Making gangs is collective over the parent: all of its members, one order, one list.
#include <map>

#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "sim/report/report.h"

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

// Who is not in the logger's gang splits at once, its only member on first use: after the barrier.
void lazy_split(Rank& rank, const Fault& fault) {
  const bool is_logger = rank.rank() == 0;
  const bool is_lazy = fault.is_planted() && is_logger;
  const Gang::Split logger{.color = is_logger ? 0 : no_color};
  if (!is_lazy) rank.root()->split(logger, {.name = "logger"}, fault.here());
  rank.root()->barrier({}, fault.here());
  if (is_lazy) rank.root()->split(logger, {.name = "logger"});
}

// The barrier comes before the rank has been given its device, and takes the one of its number. The
// communicators of a device are made on first use, and one rank's device is another one.
void guessed_device(Rank& rank, const Fault& fault) {
  const int guess = rank.rank();
  const int given = rank.rank() == rank.world_size() - 1 ? 0 : guess;
  std::map<int, std::shared_ptr<Gang>> communicators;
  const auto communicator_on = [&](int device) -> Gang& {
    auto& communicator = communicators[device];
    if (!communicator)
      communicator = rank.root()->split({.color = 0}, {.name = "communicator"}, fault.here());
    return *communicator;
  };
  communicator_on(fault.is_planted() ? guess : given).barrier();
  std::vector<float> gradient(8, 1.0F);
  communicator_on(given).all_reduce(view(gradient), ReduceOperation::mean);
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
    rank.wrong_result("The shards of two tensor-parallel ranks were added up.", fault.here());
}

}  // namespace

std::vector<FaultyProgram> group_creation() {
  namespace id = sim::finding_id;
  return {{.name = "own_gang_only",
           .description = "each rank makes its own gang",
           .seen_in = "pytorch#130102",
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
           .seen_in = "sglang#15805",
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
          {.name = "lazy_split",
           .description = "one rank splits on first use",
           .seen_in = "pytorch#134314",
           .body = lazy_split,
           .finding = id::mismatch_operation,
           .ranks = {0},
           .fewest_ranks = 3},
          {.name = "guessed_device",
           .description = "a barrier guesses its device",
           .seen_in = "pytorch#124714, ray#42751",
           .body = guessed_device,
           .finding = id::blocked_in_other_gang,
           .ranks = {3},
           .fewest_ranks = 3},
          {.name = "split_without_one",
           .description = "one rank does not split",
           .body = split_without_one,
           .finding = id::participant_missing,
           .ranks = {0}},
          {.name = "mesh_of_dp_ranks",
           .description = "ranks of dp, taken for root's",
           .seen_in = "fairseq2 nn/fsdp/fsdp2.py:86",
           .body = mesh_of_dp_ranks,
           .finding = id::wrong_result,
           .ranks = {0, 1, 2, 3},
           .fewest_ranks = 4,
           .world_step = 4}};
}

}  // namespace gang::harness
