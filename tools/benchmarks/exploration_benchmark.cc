// How many schedules of a small program an exploration runs per second.
#include "sim/further_runs/every_schedule.h"
#include "sim/schedule/known_contests.h"
#include "tools/benchmarks/simulated_run.h"

namespace gang::benchmarks {
namespace {

// Four small operations of each of four ranks, as in message passing between two pairs: two
// ranks receive three messages each, from whoever is first.
void four_times_four(sim::SimulatedRank& rank) {
  Gang& root = *rank.root();
  float value = static_cast<float>(rank.rank());
  for (int i = 0; i < 3; ++i)
    if (rank.rank() < 2)
      root.recv(view_of(value));
    else
      root.send(view_of(value), (rank.rank() + i) % 2);
  root.all_reduce(view_of(value), ReduceOperation::sum);
}

// Three messages of each of three ranks to rank 0 come in 9! / 3!^3 orders: so many runs that what
// an exploration does once does not count.
void three_messages_of_three(sim::SimulatedRank& rank) {
  Gang& root = *rank.root();
  float value = static_cast<float>(rank.rank());
  if (rank.rank() == 0)
    for (int i = 0; i < 9; ++i) root.recv(view_of(value));
  else
    for (int i = 0; i < 3; ++i) root.send(view_of(value), 0);
  root.all_reduce(view_of(value), ReduceOperation::sum);
}

// Of all runs of an exploration: steps that do not commute with one of another context.
std::uint64_t contested_choices(const sim::SimulationOptions& options,
                                void (*program)(sim::SimulatedRank&)) {
  const sim::RunAgain again = [program](const sim::SimulationOptions& guided) {
    return sim::Simulation(guided).run(program);
  };
  sim::KnownContests known;
  sim::run_every_schedule(options, again, [&known](const sim::ExploredRun& ran) {
    known.learn(ran.guide->log());
    return true;
  });
  std::uint64_t contested = 0;
  sim::run_every_schedule(options, again, [&](const sim::ExploredRun& ran) {
    contested += known.contested_steps(ran.guide->log());
    return true;
  });
  return contested;
}

// The exploration of every schedule. Items are runs.
void every_schedule(benchmark::State& state, void (*program)(sim::SimulatedRank&),
                    std::uint64_t classes) {
  const sim::SimulationOptions options{.world_size = 4, .context = sim::ContextKind::fiber};
  const std::uint64_t contested = contested_choices(options, program);
  std::int64_t runs = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const sim::EverySchedule every = sim::run_every_schedule(
        options,
        [program](const sim::SimulationOptions& guided) {
          return sim::Simulation(guided).run(program);
        },
        [](const sim::ExploredRun& ran) { return ran.report.holds(); },
        static_cast<int>(state.range(0)));
    if (every.end != sim::EverySchedule::End::all_seen || every.classes != classes) {
      state.SkipWithError("not every schedule was seen");
      break;
    }
    runs += static_cast<std::int64_t>(every.classes);
  }
  state.SetItemsProcessed(runs);
  state.counters["contested_choices"] = benchmark::Counter(
      static_cast<double>(contested), benchmark::Counter::kIsIterationInvariantRate);
}

// One exploration after the other on each of two processors.
void every_schedule_of_four_times_four(benchmark::State& state) {
  every_schedule(state, four_times_four, 7);
}
BENCHMARK(every_schedule_of_four_times_four)
    ->ArgName("jobs")
    ->Arg(1)
    ->Threads(2)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

void every_schedule_of_nine_messages(benchmark::State& state) {
  every_schedule(state, three_messages_of_three, 1'680);
}
BENCHMARK(every_schedule_of_nine_messages)
    ->ArgName("jobs")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The program of four operations of each rank under random schedules, for comparison.
void random_schedules_of_four_times_four(benchmark::State& state) {
  std::uint64_t seed = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const sim::SimulationOptions options{.world_size = 4,
                                         .seed = ++seed,
                                         .context = sim::ContextKind::fiber,
                                         .scheduler = sim::SchedulerKind::random};
    if (!sim::Simulation(options).run(four_times_four).holds()) {
      state.SkipWithError("a schedule did not hold");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(random_schedules_of_four_times_four)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gang::benchmarks
