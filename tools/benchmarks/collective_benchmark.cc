// What posting, matching and completing a collective costs, at every size of world.
#include <algorithm>
#include <memory>
#include <vector>

#include "gang/gangs.h"
#include "sim/faults/fault_plan.h"
#include "tools/benchmarks/simulated_run.h"

namespace gang::benchmarks {
namespace {

// At least 100, so that creating the ranks does not show; more if there are few ranks.
int iterations_for(int world_size) { return std::max(100, 2'000'000 / world_size); }

sim::RankProgram repeated_all_reduce(int iterations, std::size_t count) {
  return [iterations, count](sim::SimulatedRank& rank) {
    std::vector<float> values(count, 1.0F);
    for (int i = 0; i < iterations; ++i)
      rank.root()->all_reduce(view(values), ReduceOperation::max);
  };
}

// Argument: ranks. 4 bytes each, on fibers.
void all_reduce_4_bytes(benchmark::State& state) {
  const int world_size = static_cast<int>(state.range(0));
  const sim::RankProgram program = repeated_all_reduce(iterations_for(world_size), 1);
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state)
    runs.run({.world_size = world_size, .context = sim::ContextKind::fiber}, program);
  runs.report_rank_operations();
}
BENCHMARK(all_reduce_4_bytes)
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->Arg(16'384)
    ->Arg(131'072)
    ->Arg(1'048'576)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: ranks. 4 bytes each, in messages that Gloo's own algorithm sends.
void all_reduce_4_bytes_over_gloo(benchmark::State& state) {
  const int world_size = static_cast<int>(state.range(0));
  const sim::RankProgram program = repeated_all_reduce(10'000, 1);
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state)
    runs.run({.world_size = world_size,
              .context = sim::ContextKind::fiber,
              .backend = sim::SimulatedBackend::gloo},
             program);
  runs.report_rank_operations();
}
BENCHMARK(all_reduce_4_bytes_over_gloo)->Arg(8)->UseManualTime()->Unit(benchmark::kMillisecond);

// Argument: ranks. Runs with a fault plan, one fault per rank, none of which happens, take turns
// with clean runs: the counter "ratio" is the time of the former over that of the latter.
void all_reduce_4_bytes_with_faults(benchmark::State& state) {
  const int world_size = static_cast<int>(state.range(0));
  const sim::RankProgram program = repeated_all_reduce(iterations_for(world_size), 1);
  sim::FaultPlan plan;
  for (int rank = 0; rank < world_size; ++rank)
    plan.faults.push_back({.kind = sim::FaultKind::crash,
                           .ranks = {rank},
                           .trigger = {.operation = std::uint64_t{1} << 40U}});
  const sim::SimulationOptions clean{.world_size = world_size, .context = sim::ContextKind::fiber};
  sim::SimulationOptions planned = clean;
  planned.faults = std::make_shared<const sim::FaultPlan>(plan);
  double clean_ns = 0;
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state) {
    clean_ns += static_cast<double>(sim::Simulation(clean).run(program).wall_time.count());
    runs.run(planned, program);
  }
  runs.report_rank_operations();
  state.counters["ratio"] = runs.wall_ns() / clean_ns;
}
BENCHMARK(all_reduce_4_bytes_with_faults)
    ->Arg(8)
    ->Arg(64)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: ranks. Like the first, on one OS thread per rank.
void all_reduce_4_bytes_on_threads(benchmark::State& state) {
  const sim::RankProgram program = repeated_all_reduce(200, 1);
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state)
    runs.run({.world_size = static_cast<int>(state.range(0)), .context = sim::ContextKind::thread},
             program);
  runs.report_rank_operations();
}
BENCHMARK(all_reduce_4_bytes_on_threads)
    ->Arg(8)
    ->Arg(64)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// 16 MiB of f32 on each of 8 ranks; the counter is milliseconds per collective.
void all_reduce_16_mib(benchmark::State& state) {
  constexpr int iterations = 10;
  const sim::RankProgram program = repeated_all_reduce(iterations, 4 * 1024 * 1024);
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state)
    runs.run({.world_size = 8, .context = sim::ContextKind::fiber}, program);
  runs.report_rank_operations();
}
BENCHMARK(all_reduce_16_mib)->UseManualTime()->Unit(benchmark::kMillisecond);

// Argument: ranks. Every gang of a layout of three axes, and one collective on each.
void mesh_of_three_axes(benchmark::State& state) {
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state) {
    runs.run({.world_size = static_cast<int>(state.range(0)), .context = sim::ContextKind::fiber},
             [](sim::SimulatedRank& rank) {
               Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 8, .pp_size = 16});
               float value = 1.0F;
               for (const auto& axis : {gangs.dp, gangs.tp, gangs.pp})
                 axis->all_reduce(view_of(value), ReduceOperation::max);
               gangs.close();
             });
  }
  runs.report_rank_operations();
}
BENCHMARK(mesh_of_three_axes)
    ->Arg(1024)
    ->Arg(131'072)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
