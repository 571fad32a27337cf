// Bugs that need devices which run kernels in launch order: the backend sim-nccl.
#include <array>

#include "gang/nccl/nccl_gang.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/backends/nccl/nccl_roots.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/report/report.h"
#include "sim/simulation.h"

namespace gang::harness {
namespace {

using Values = std::vector<float>;

struct TwoGangs {
  explicit TwoGangs(Rank& rank)
      : data(rank.root()->split({.color = 0}, {.name = "data"})),
        model(rank.root()->split({.color = 0}, {.name = "model"})) {}

  std::shared_ptr<Gang> data;
  std::shared_ptr<Gang> model;
};

// Correct gang by gang, but each rank's device runs first what the other's runs last.
void launch_order(Rank& rank, const PlantedBug& bug) {
  const TwoGangs gangs(rank);
  const bool swaps = bug.is_planted() && rank.rank() % 2 == 1;
  Values gradient(8, 1.0F);
  Values activation(4, 1.0F);
  std::vector<Work> works;
  const auto reduce = [&] {
    works.push_back(
        gangs.data->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here()));
  };
  if (!swaps) reduce();
  works.push_back(
      gangs.model->start_all_reduce(view(activation), ReduceOperation::sum, {}, bug.here()));
  if (swaps) reduce();
  Work::wait_all(works);
}

// Three ranks and a gang for each pair of them: each rank begins with the gang of its own number.
void three_pairs(Rank& rank, const PlantedBug& bug) {
  std::vector<std::shared_ptr<Gang>> pairs;
  for (int i = 0; i < 3; ++i)
    pairs.push_back(rank.root()->create_gang(std::vector{i, (i + 1) % 3},
                                             {.name = "pair" + std::to_string(i)}));
  const int first = bug.is_planted() ? rank.rank() : 0;
  std::vector<Work> works;
  for (int i = first; i < first + 3; ++i) {
    const auto& pair = pairs[static_cast<std::size_t>(i % 3)];
    if (pair) works.push_back(pair->start_barrier({}, bug.here()));
  }
  Work::wait_all(works);
}

// Creates a gang while a reduction spins. Creation waits until the device is idle, but the peer
// creates the gang first and has not launched its side of the reduction yet.
void overlapping_init(Rank& rank, const PlantedBug& bug) {
  const auto data = rank.root()->split({.color = 0}, {.name = "data"});
  Values gradient(8, 1.0F);
  const bool makes_first = !bug.is_planted() || rank.rank() % 2 == 1;
  if (makes_first) rank.root()->split({.color = 0}, {}, bug.here());
  Work work = data->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  if (!makes_first) rank.root()->split({.color = 0}, {}, bug.here());
  work.wait();
}

// Started messages run one after the other on their gang's stream, unless they form a batch.
void sends_ahead(Rank& rank, const PlantedBug& bug) {
  const int peer = rank.rank() ^ 1;
  Values sent(4, 1.0F);
  Values received(4);
  if (!bug.is_planted()) {
    const PointToPoint both[] = {{OperationKind::send, view(sent), peer},
                                 {OperationKind::recv, view(received), peer}};
    return rank.root()->batch(both);
  }
  Work send = rank.root()->start_send(view(sent), peer, 0, {}, bug.here());
  Work receive = rank.root()->start_recv(view(received), peer, 0, {}, bug.here());
  send.wait();
  receive.wait();
}

// A message and a reduction of one gang share its stream.
void message_on_nccl_stream(Rank& rank, const PlantedBug& bug) {
  Gang& gang = *rank.root();
  Values activation(4, 1.0F);
  float norm = 1.0F;
  std::vector<Work> works;
  const auto message = [&] {
    if (rank.rank() == 0) works.push_back(gang.start_send(view(activation), 1, 0, {}, bug.here()));
    if (rank.rank() == 1) works.push_back(gang.start_recv(view(activation), 0, 0, {}, bug.here()));
  };
  const bool comes_late = bug.is_planted() && rank.rank() == 1;
  if (!comes_late) message();
  works.push_back(gang.start_all_reduce(view_of(norm), ReduceOperation::sum, {}, bug.here()));
  if (comes_late) message();
  Work::wait_all(works);
}

// A reduction and a message, each on its own communicator.
void message_and_reduction(Rank& rank, const PlantedBug& bug) {
  const int side = rank.rank() % 2;
  const auto data = rank.root()->split({.color = 0}, {.name = "data"});
  const auto pipe = rank.root()->split({.color = rank.rank() / 2}, {.name = "pipe"});
  Values activation(4, 1.0F);
  Values gradient(8, 1.0F);
  std::vector<Work> works;
  const auto reduce = [&] {
    works.push_back(data->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here()));
  };
  const bool reduces_first = !bug.is_planted() || side == 0;
  if (reduces_first) reduce();
  works.push_back(side == 0 ? pipe->start_send(view(activation), 1, 0, {}, bug.here())
                            : pipe->start_recv(view(activation), 0, 0, {}, bug.here()));
  if (!reduces_first) reduce();
  Work::wait_all(works);
}

// Four communicators at once, in orders that would still work with three kernels at a time.
void too_many_kernels(Rank& rank, const PlantedBug& bug) {
  std::vector<std::shared_ptr<Gang>> gangs;
  for (int i = 0; i < 4; ++i)
    gangs.push_back(rank.root()->split({.color = 0}, {.name = "bucket" + std::to_string(i)}));
  Values gradients(4, 1.0F);
  std::vector<Work> works;
  const std::size_t first = bug.is_planted() && rank.rank() % 2 == 1 ? 2 : 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t bucket = (first + i) % 4;
    works.push_back(gangs[bucket]->start_all_reduce(view_of(gradients[bucket]),
                                                    ReduceOperation::sum, {}, bug.here()));
  }
  Work::wait_all(works);
}

// All ranks launch in one order, but nothing makes their devices keep it.
void no_launch_order(Rank& rank, const PlantedBug& bug) {
  const TwoGangs gangs(rank);
  Values gradient(8, 1.0F);
  Values activation(4, 1.0F);
  Work first = gangs.data->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  if (!bug.is_planted()) first.wait();
  Work second =
      gangs.model->start_all_reduce(view(activation), ReduceOperation::sum, {}, bug.here());
  second.wait();
  if (bug.is_planted()) first.wait();
}

// Two threads of each rank launch in whatever order they run.
void launching_threads(Rank& rank, const PlantedBug& bug) {
  const TwoGangs gangs(rank);
  Values gradient(8, 1.0F);
  Values activation(4, 1.0F);
  const auto reduce = [&] {
    gangs.data->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  };
  std::unique_ptr<RuntimeThread> thread;
  if (bug.is_planted())
    thread = rank.runtime().start_thread("gradients", reduce);
  else
    reduce();
  gangs.model->all_reduce(view(activation), ReduceOperation::sum, {}, bug.here());
  if (thread) thread->join();
}

// Hosts synchronize between their launches, which works only if launches return at once.
void blocking_launch(Rank& rank, const PlantedBug& bug) {
  const auto data = rank.root()->split({.color = 0}, {.name = "data"});
  Values gradient(8, 1.0F);
  const bool meets_first = bug.is_planted() && rank.rank() % 2 == 1;
  if (meets_first) rank.root()->monitored_barrier(default_timeout);
  Work work = data->start_all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  if (!meets_first) rank.root()->monitored_barrier(default_timeout);
  work.wait();
}

// Each pair has one gang per direction, and both ranks start their sends first.
void blocking_sends(Rank& rank, const PlantedBug& bug) {
  const int side = rank.rank() % 2;
  const auto up = rank.root()->split({.color = rank.rank() / 2}, {.name = "up"});
  const auto down = rank.root()->split({.color = rank.rank() / 2}, {.name = "down"});
  Values sent(4, 1.0F);
  Values received(4);
  std::vector<Work> works;
  const auto send = [&] {
    Gang& gang = side == 0 ? *up : *down;
    works.push_back(gang.start_send(view(sent), 1 - side, 0, {}, bug.here()));
  };
  const bool sends_first = bug.is_planted() || side == 0;
  if (sends_first) send();
  Gang& gang = side == 0 ? *down : *up;
  works.push_back(gang.start_recv(view(received), 1 - side, 0, {}, bug.here()));
  if (!sends_first) send();
  Work::wait_all(works);
}

// One process drives two devices, each of them a rank of one gang.
void one_thread(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() != 0) return;
  sim::SimulatedNccl& machine = sim::simulated_nccl_of(rank.simulated()->world());
  const std::shared_ptr<NcclMeeting> meeting(std::shared_ptr<void>(), &machine);
  const std::shared_ptr<Runtime> runtime(std::shared_ptr<void>(), &rank.runtime());
  const std::shared_ptr<NcclApi> devices[] = {machine.api_of(0), machine.api_of(1)};
  std::array<std::shared_ptr<Gang>, 2> gangs;
  const auto make = [&](std::size_t device) {
    gangs[device] =
        make_nccl_gang({.world = {.api = devices[device], .meeting = meeting, .runtime = runtime},
                        .rank = static_cast<int>(device),
                        .size = 2,
                        .name = "devices",
                        .key = "devices",
                        .tensors = NcclTensors::on_host});
  };
  const auto reduce = [&](std::size_t device) {
    Values gradient(8, 1.0F);
    gangs[device]->all_reduce(view(gradient), ReduceOperation::sum, {}, bug.here());
  };
  const auto second = rank.runtime().start_thread("device 1", [&] {
    make(1);
    if (!bug.is_planted()) reduce(1);
  });
  make(0);
  if (bug.is_planted()) second->join();
  reduce(0);
  if (bug.is_planted()) reduce(1);
}

// Kernels of different sizes meet and spin forever.
void kernels_differ(Rank& rank, const PlantedBug& bug) {
  Values values(bug.is_planted() && rank.rank() == 1 ? 5 : 4, 1.0F);
  rank.root()->all_reduce(view(values), ReduceOperation::sum, {}, bug.here());
}

std::vector<FaultyProgram> inverted_orders() {
  namespace id = sim::finding_id;
  return {
      faulty("nccl_launch_order", "communicators in two orders", launch_order,
             id::stream_order_inversion, {0, 1}, {.default_world_size = 2, .world_step = 2}),
      faulty("nccl_three_pairs", "a cycle of launch orders", three_pairs,
             id::stream_order_inversion, {0, 1, 2}, {.default_world_size = 3, .fewest_ranks = 3}),
      faulty("nccl_one_stream", "a message behind a reduction", message_on_nccl_stream,
             id::stream_order_inversion, {0, 1}, {.default_world_size = 2}),
      faulty("nccl_message_order", "a message and a reduction", message_and_reduction,
             id::stream_order_inversion, {0, 1},
             {.seen_in = "nccl#522", .default_world_size = 2, .world_step = 2}),
      faulty("nccl_many_kernels", "more kernels than a device runs", too_many_kernels,
             id::stream_order_inversion, {0, 1},
             {.default_world_size = 2, .world_step = 2, .options = {{"nccl", "resident=2"}}}),
      faulty("nccl_no_order", "devices choose what runs first", no_launch_order,
             id::stream_order_inversion, {0, 1},
             {.default_world_size = 2,
              .options = {{"nccl", "order=any"}},
              .shown_in = ShownIn::some_schedules}),
      faulty("nccl_threads", "two threads launch in any order", launching_threads,
             id::stream_order_inversion, {0, 1},
             {.default_world_size = 2, .shown_in = ShownIn::some_schedules})};
}

std::vector<FaultyProgram> waiting_sides() {
  namespace id = sim::finding_id;
  return {faulty("nccl_gang_made_late", "a gang created under a kernel", overlapping_init,
                 id::device_synchronization, {0, 1},
                 {.seen_in = "nccl#195", .default_world_size = 2, .world_step = 2}),
          faulty("nccl_sends_ahead", "both send first, unbatched", sends_ahead,
                 id::point_to_point_cycle, {0, 1}, {.default_world_size = 2, .world_step = 2}),
          faulty("nccl_launch_blocks", "hosts sync between launches", blocking_launch,
                 id::blocking_launch, {0, 1},
                 {.seen_in = "nccl#750",
                  .default_world_size = 2,
                  .world_step = 2,
                  .options = {{"nccl", "launch=blocking"}}}),
          faulty("nccl_blocking_sends", "both send first, launches block", blocking_sends,
                 id::blocking_launch, {0, 1},
                 {.default_world_size = 2,
                  .world_step = 2,
                  .options = {{"nccl", "resident=2,launch=blocking"}}}),
          faulty("nccl_one_thread", "one thread drives two devices", one_thread,
                 id::one_thread_many_ranks, {0, 1}, {.default_world_size = 2}),
          faulty("nccl_other_count", "kernels of different sizes", kernels_differ,
                 id::mismatch_count, {0, 1}, {.default_world_size = 2})};
}

}  // namespace

std::vector<FaultyProgram> nccl_devices() {
  std::vector<FaultyProgram> all = inverted_orders();
  for (FaultyProgram& program : waiting_sides()) all.push_back(std::move(program));
  for (FaultyProgram& program : all) program.options.emplace("backend", "sim-nccl");
  return all;
}

}  // namespace gang::harness
