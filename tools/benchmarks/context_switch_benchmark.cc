// What going from one rank to another and back costs.
#include <utility>

#include <boost/context/fiber.hpp>

#include "tools/benchmarks/simulated_run.h"

namespace gang::benchmarks {
namespace {

// The floor: two fibers that resume each other, without any scheduler.
void switch_of_bare_fibers(benchmark::State& state) {
  bool stop = false;
  boost::context::fiber other([&stop](boost::context::fiber&& caller) {
    while (!stop) caller = std::move(caller).resume();
    return std::move(caller);
  });
  for ([[maybe_unused]] auto iteration : state) other = std::move(other).resume();
  stop = true;
  other = std::move(other).resume();
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(switch_of_bare_fibers);

// Arguments: ranks, context. Ranks that yield to each other; an occasional barrier shows progress,
// without which they would be reported as polling forever.
void yield(benchmark::State& state) {
  const auto context = static_cast<sim::ContextKind>(state.range(1));
  const int yields = context == sim::ContextKind::fiber ? 100'000 : 2'000;
  state.SetLabel(std::string(to_string(context)));
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state) {
    runs.run({.world_size = static_cast<int>(state.range(0)), .context = context},
             [yields](sim::SimulatedRank& rank) {
               for (int i = 1; i <= yields; ++i) {
                 rank.runtime().yield();
                 if (i % 100 == 0) rank.root()->barrier();
               }
             });
  }
  runs.report_switches();
}
BENCHMARK(yield)
    ->ArgsProduct({{2, 64},
                   {static_cast<int>(sim::ContextKind::fiber),
                    static_cast<int>(sim::ContextKind::thread)}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
