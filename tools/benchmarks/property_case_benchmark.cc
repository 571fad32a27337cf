// How many random worlds can be created, run and checked per second.
#include <vector>

#include "tools/benchmarks/simulated_run.h"

namespace gang::benchmarks {
namespace {

// One operation of a random program; every rank draws the same from the run's seed.
void run_random_operation(Gang& gang, sim::RandomStream& draws) {
  const auto count = static_cast<std::size_t>(1 + draws.below(64));
  const auto size = static_cast<std::size_t>(gang.size());
  std::vector<float> tensor(count * size, static_cast<float>(gang.rank()));
  const TensorView whole = view(tensor);
  const TensorView part = whole.slice(0, static_cast<std::int64_t>(count));
  const int root = static_cast<int>(draws.below(size));
  switch (draws.below(5)) {
    case 0:
      gang.all_reduce(whole, ReduceOperation::sum);
      break;
    case 1:
      gang.broadcast(whole, root);
      break;
    case 2: {
      std::vector<float> gathered(count * size);
      gang.all_gather(view(gathered), part);
      break;
    }
    case 3:
      gang.reduce(whole, ReduceOperation::max, root);
      break;
    default:
      gang.barrier();
  }
}

// A case: 2-16 ranks, 8 random operations, a random schedule, a new world. Items are cases.
void random_property_case(benchmark::State& state) {
  std::uint64_t seed = 0;
  for ([[maybe_unused]] auto iteration : state) {
    ++seed;
    const int world_size = 2 + static_cast<int>(sim::RandomStream(seed, "world").below(15));
    const sim::SimulationOptions options{.world_size = world_size,
                                         .seed = seed,
                                         .context = sim::ContextKind::fiber,
                                         .scheduler = sim::SchedulerKind::random};
    const sim::Report report = sim::Simulation(options).run([seed](sim::SimulatedRank& rank) {
      sim::RandomStream draws(seed, "operations");
      for (int i = 0; i < 8; ++i) run_random_operation(*rank.root(), draws);
    });
    if (!report.holds()) {
      state.SkipWithError(to_string(report).c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(random_property_case)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gang::benchmarks
