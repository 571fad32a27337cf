// Creating a gang is collective over its parent: every member takes part, in one order, with one
// list of ranks.
#include <map>

#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

// Each rank creates only the gang that it will use.
void own_gang_only(Rank& rank, const PlantedBug& bug) {
  const int half = rank.world_size() / 2;
  std::vector<int> lower;
  std::vector<int> upper;
  for (int i = 0; i < half; ++i) lower.push_back(i);
  for (int i = half; i < 2 * half; ++i) upper.push_back(i);
  if (bug.is_planted()) {
    rank.root()->create_gang(rank.rank() < half ? lower : upper, {}, bug.here());
    return;
  }
  rank.root()->create_gang(lower);
  rank.root()->create_gang(upper);
}

// One rank creates the tensor gang before the data gang.
void tp_before_dp(Rank& rank, const PlantedBug& bug) {
  const std::vector<int> dp = {0, 2};
  const std::vector<int> tp = {1, 3};
  const bool swaps = bug.is_planted() && rank.rank() == 1;
  rank.root()->create_gang(swaps ? tp : dp, {}, bug.here());
  rank.root()->create_gang(swaps ? dp : tp);
}

// Ranks read their list of workers from two files, one of them out of date.
void old_rank_list(Rank& rank, const PlantedBug& bug) {
  const bool is_old = bug.is_planted() && rank.rank() == 3;
  const std::vector<int> workers =
      is_old ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1, 2, 3};
  rank.root()->create_gang(workers, {}, bug.here());
}

// Only the members create the gang; the other rank goes straight to the barrier.
void members_only(Rank& rank, const PlantedBug& bug) {
  const int outsider = rank.world_size() - 1;
  std::vector<int> workers;
  for (int i = 0; i < outsider; ++i) workers.push_back(i);
  if (rank.rank() != outsider || !bug.is_planted()) rank.root()->create_gang(workers);
  rank.root()->barrier({}, bug.here());
}

// Ranks outside the logger's gang split at once; its only member splits on first use, after the
// barrier.
void lazy_split(Rank& rank, const PlantedBug& bug) {
  const bool is_logger = rank.rank() == 0;
  const bool is_lazy = bug.is_planted() && is_logger;
  const Gang::Split logger{.color = is_logger ? 0 : no_color};
  if (!is_lazy) rank.root()->split(logger, {.name = "logger"}, bug.here());
  rank.root()->barrier({}, bug.here());
  if (is_lazy) rank.root()->split(logger, {.name = "logger"});
}

// The barrier comes before ranks know their devices, so it guesses the device of the rank's number.
// A device's communicator is created on first use, and one rank guesses wrong.
void guessed_device(Rank& rank, const PlantedBug& bug) {
  const int guess = rank.rank();
  const int given = rank.rank() == rank.world_size() - 1 ? 0 : guess;
  std::map<int, std::shared_ptr<Gang>> communicators;
  const auto communicator_on = [&](int device) -> Gang& {
    auto& communicator = communicators[device];
    if (!communicator)
      communicator = rank.root()->split({.color = 0}, {.name = "communicator"}, bug.here());
    return *communicator;
  };
  communicator_on(bug.is_planted() ? guess : given).barrier();
  std::vector<float> gradient(8, 1.0F);
  communicator_on(given).all_reduce(view(gradient), ReduceOperation::mean);
}

// The evaluator needs no gang of its own and returns before the others split.
void split_without_one(Rank& rank, const PlantedBug& bug) {
  const bool evaluates = rank.rank() == 0;
  if (evaluates && bug.is_planted()) return;
  rank.root()->split({.color = evaluates ? no_color : rank.rank() % 2}, {}, bug.here());
}

// The mesh uses rank numbers of dp where those of the root are needed; correct only if dp is the
// whole world.
void mesh_of_dp_ranks(Rank& rank, const PlantedBug& bug) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  const int tp_rank = gangs.tp->rank();
  std::shared_ptr<Gang> shards;
  for (int line = 0; line < 2; ++line) {
    std::vector<int> ranks;
    for (int i = 0; i < gangs.dp->size(); ++i)
      ranks.push_back(bug.is_planted() ? (i + line * gangs.dp->size()) : 2 * i + line);
    const auto gang = rank.root()->create_gang(ranks);
    if (gang) shards = gang;
  }
  std::int32_t parameter = tp_rank;
  shards->all_reduce(view_of(parameter), ReduceOperation::sum);
  if (parameter != tp_rank * shards->size())
    rank.wrong_result("Shards of different tensor-parallel ranks were summed.", bug.here());
}

}  // namespace

std::vector<FaultyProgram> group_creation() {
  namespace id = sim::finding_id;
  return {faulty("own_gang_only", "each rank creates its own gang", own_gang_only,
                 id::group_creation_order, {0, 1, 2, 3},
                 {.seen_in = "pytorch#130102", .fewest_ranks = 4, .world_step = 2}),
          faulty("tp_before_dp", "gangs created in another order", tp_before_dp,
                 id::group_creation_order, {1}, {.fewest_ranks = 4}),
          faulty("old_rank_list", "one rank's list is shorter", old_rank_list, id::mismatch_ranks,
                 {3}, {.seen_in = "sglang#15805", .fewest_ranks = 4}),
          faulty("members_only", "only members create the gang", members_only,
                 id::mismatch_operation, {3}, {.fewest_ranks = 3}),
          faulty("lazy_split", "one rank splits on first use", lazy_split, id::mismatch_operation,
                 {0}, {.seen_in = "pytorch#134314", .fewest_ranks = 3}),
          faulty("guessed_device", "a barrier guesses its device", guessed_device,
                 id::blocked_in_other_gang, {3},
                 {.seen_in = "pytorch#124714, ray#42751", .fewest_ranks = 3}),
          faulty("split_without_one", "one rank does not split", split_without_one,
                 id::participant_missing, {0}),
          faulty("mesh_of_dp_ranks", "dp ranks used as root ranks", mesh_of_dp_ranks,
                 id::wrong_result, {0, 1, 2, 3},
                 {.seen_in = "fairseq2 nn/fsdp/fsdp2.py:86", .fewest_ranks = 4, .world_step = 4})};
}

}  // namespace gang::harness
