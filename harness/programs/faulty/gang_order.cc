// Several gangs: which rank calls which gang first.
#include "gang/gangs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Values = std::vector<float>;

// Colors the (dp, tp) grid of ranks like a chessboard.
bool is_white(const Gangs& gangs) { return (gangs.dp->rank() + gangs.tp->rank()) % 2 == 0; }

// Half of the ranks reduce over dp before tp, the other half over tp before dp.
void dp_and_tp(Rank& rank, const PlantedBug& bug) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  Values gradient(8, 1.0F);
  const bool swaps = bug.is_planted() && !is_white(gangs);
  const auto& first = swaps ? gangs.tp : gangs.dp;
  const auto& second = swaps ? gangs.dp : gangs.tp;
  first->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  second->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
}

// Three ranks and a gang for each pair of them: each rank calls the gang of its own number first.
void three_gangs(Rank& rank, const PlantedBug& bug) {
  std::vector<std::shared_ptr<Gang>> pairs;
  for (int i = 0; i < 3; ++i)
    pairs.push_back(rank.root()->create_gang(std::vector{i, (i + 1) % 3},
                                             {.name = "pair" + std::to_string(i)}));
  const int first = bug.is_planted() ? rank.rank() : 0;
  for (int i = first; i < first + 3; ++i) {
    const auto& pair = pairs[static_cast<std::size_t>(i % 3)];
    if (pair) pair->barrier({}, bug.here());
  }
}

// Halo exchange over pairs: every rank begins with a different neighbour.
void ring_of_gangs(Rank& rank, const PlantedBug& bug) {
  const int size = rank.world_size();
  const auto right = rank.root()->split({.color = rank.rank() / 2}, {.name = "even_pairs"});
  const auto left =
      rank.root()->split({.color = (rank.rank() + 1) % size / 2}, {.name = "odd_pairs"});
  Values halo(4, 1.0F);
  const bool swaps = bug.is_planted() && rank.rank() % 2 == 1;
  (swaps ? left : right)->all_reduce(view(halo), ReduceOperation::sum, {}, bug.here());
  (swaps ? right : left)->all_reduce(view(halo), ReduceOperation::sum, {}, bug.here());
}

// A stage sends before it reduces; the next stage reduces before it receives.
void send_or_reduce(Rank& rank, const PlantedBug& bug) {
  const auto pp = rank.root()->split({.color = rank.rank() / 2}, {.name = "pp"});
  Values activation(4, 1.0F);
  float norm = 1.0F;
  if (pp->rank() == 0) pp->send(view(activation), 1, 0, {}, bug.here());
  if (pp->rank() == 1 && !bug.is_planted()) pp->recv(view(activation), 0);
  rank.root()->all_reduce(view_of(norm), ReduceOperation::sum, {}, bug.here());
  if (pp->rank() == 1 && bug.is_planted()) pp->recv(view(activation), 0);
}

// One rank enters a barrier of its tensor gang while the other members are at the barrier of all.
void extra_tp_barrier(Rank& rank, const PlantedBug& bug) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 3});
  if (rank.rank() == 0 || !bug.is_planted()) gangs.tp->barrier({}, bug.here());
  gangs.root->barrier({}, bug.here());
}

// Correct gang by gang, but on one stream the operation launched first holds up the second.
void stream_inversion(Rank& rank, const PlantedBug& bug) {
  const Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
  Values gradient(8, 1.0F);
  Values activation(4, 1.0F);
  const bool swaps = bug.is_planted() && !is_white(gangs);
  std::vector<Work> works;
  const auto reduce = [&] {
    works.push_back(
        gangs.dp->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here()));
  };
  if (!swaps) reduce();
  works.push_back(
      gangs.tp->start_all_reduce(view(activation), ReduceOperation::sum, {}, bug.here()));
  if (swaps) reduce();
  Work::wait_all(works);
}

// A message launched before a reduction on one rank, after it on the other.
void message_on_stream(Rank& rank, const PlantedBug& bug) {
  const auto pp = rank.root()->split({.color = rank.rank() / 2}, {.name = "pp"});
  Values activation(4, 1.0F);
  float norm = 1.0F;
  std::vector<Work> works;
  if (pp->rank() == 0) works.push_back(pp->start_send(view(activation), 1, 0, {}, bug.here()));
  if (pp->rank() == 1 && !bug.is_planted()) works.push_back(pp->start_recv(view(activation), 0));
  works.push_back(
      rank.root()->start_all_reduce(view_of(norm), ReduceOperation::sum, {}, bug.here()));
  if (pp->rank() == 1 && bug.is_planted()) works.push_back(pp->start_recv(view(activation), 0));
  Work::wait_all(works);
}

}  // namespace

std::vector<FaultyProgram> gang_order() {
  namespace id = sim::finding_id;
  return {
      faulty("dp_and_tp", "dp before tp, tp before dp", dp_and_tp, id::cross_gang_cycle,
             {0, 1, 2, 3}, {.fewest_ranks = 4, .world_step = 4}),
      faulty("three_gangs", "a cycle through three gangs", three_gangs, id::cross_gang_cycle,
             {0, 1, 2}, {.seen_in = "torchrec#4149", .default_world_size = 3, .fewest_ranks = 3}),
      faulty("ring_of_gangs", "a cycle through all pairs", ring_of_gangs, id::cross_gang_cycle,
             {0, 1, 2, 3, 4, 5}, {.default_world_size = 6, .fewest_ranks = 4, .world_step = 2}),
      faulty("send_or_reduce", "a send crosses a reduction", send_or_reduce, id::buffering_hazard,
             {0, 1}, {.default_world_size = 2, .world_step = 2}),
      faulty("extra_tp_barrier", "blocked in another gang", extra_tp_barrier,
             id::blocked_in_other_gang, {0},
             {.default_world_size = 6, .fewest_ranks = 6, .world_step = 3}),
      faulty("stream_inversion", "launched in different orders", stream_inversion,
             id::stream_order_inversion, {0, 1, 2, 3},
             {.fewest_ranks = 4, .world_step = 4, .options = {{"execution", "stream_ordered"}}}),
      faulty("message_on_stream", "a message behind a reduction", message_on_stream,
             id::stream_order_inversion, {0, 1},
             {.default_world_size = 2,
              .world_step = 2,
              .options = {{"execution", "stream_ordered"}}})};
}

}  // namespace gang::harness
