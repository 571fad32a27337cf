// What messages of many ranks cost, and what reports of their mistakes do.
#include <chrono>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sim/further_runs/settled_run.h"
#include "sim/report/report_json.h"
#include "tools/benchmarks/simulated_run.h"

namespace gang::benchmarks {
namespace {

// Arguments: ranks, and whether rank 0 receives from any source. One message of each other rank.
void gather_by_messages(benchmark::State& state) {
  const bool is_from_any = state.range(1) != 0;
  SimulatedRuns runs(state);
  for ([[maybe_unused]] auto iteration : state)
    runs.run({.world_size = static_cast<int>(state.range(0)), .context = sim::ContextKind::fiber},
             [is_from_any](sim::SimulatedRank& rank) {
               Gang& root = *rank.root();
               float value = 1.0F;
               if (rank.rank() != 0) return root.send(view_of(value), 0);
               for (int source = 1; source < root.size(); ++source)
                 root.recv(view_of(value), is_from_any ? any_rank : source);
             });
  runs.report_rank_operations();
}
BENCHMARK(gather_by_messages)
    ->ArgNames({"ranks", "any"})
    ->Args({16'384, 0})
    ->Args({16'384, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Runs a program that deadlocks or fails with every further run that settles it, and makes a report
// of it. Counter "json_mib".
void settle(benchmark::State& state, std::string_view id, const sim::RankProgram& program) {
  const sim::SimulationOptions options{.world_size = static_cast<int>(state.range(0)),
                                       .context = sim::ContextKind::fiber};
  for ([[maybe_unused]] auto iteration : state) {
    const auto began = std::chrono::steady_clock::now();
    const sim::Report report = sim::run_settled(options, program);
    if (report.findings.size() != 1 || report.findings.front().id != id)
      return state.SkipWithError(to_string(report).c_str());
    const std::string text = to_string(report) + to_json(report).dump();
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    state.counters["json_mib"] = static_cast<double>(text.size()) / (1 << 20);
  }
}

// Argument: ranks. Each sends to the next one before it receives: a run with buffers decides.
void settled_send_cycle(benchmark::State& state) {
  settle(state, sim::finding_id::buffering_hazard, [](sim::SimulatedRank& rank) {
    Gang& root = *rank.root();
    float value = 1.0F;
    root.send(view_of(value), (rank.rank() + 1) % root.size());
    root.recv(view_of(value), (rank.rank() + root.size() - 1) % root.size());
  });
}
BENCHMARK(settled_send_cycle)
    ->Arg(16'384)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: ranks. Each pair has a tag of its own, and one line of the program takes the wrong one.
void settled_wrong_tags(benchmark::State& state) {
  settle(state, sim::finding_id::mismatch_tag, [](sim::SimulatedRank& rank) {
    Gang& root = *rank.root();
    float value = 1.0F;
    if (rank.rank() % 2 == 0) return root.send(view_of(value), rank.rank() + 1, rank.rank());
    root.recv(view_of(value), rank.rank() - 1, rank.rank());
  });
}
BENCHMARK(settled_wrong_tags)
    ->Arg(16'384)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: ranks. Messages go down a line of ranks, and one of them has another tag.
void settled_wrong_tag_in_line(benchmark::State& state) {
  settle(state, sim::finding_id::mismatch_tag, [](sim::SimulatedRank& rank) {
    Gang& root = *rank.root();
    float value = 1.0F;
    const bool is_last = rank.rank() == root.size() - 1;
    if (rank.rank() > 0) root.recv(view_of(value), rank.rank() - 1);
    if (!is_last) root.send(view_of(value), rank.rank() + 1, rank.rank() == 1000 ? 1 : 0);
  });
}
BENCHMARK(settled_wrong_tag_in_line)
    ->Arg(16'384)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Argument: ranks. One fails, and with it all others, which learn of it in their next call.
void settled_failure(benchmark::State& state) {
  settle(state, sim::finding_id::rank_failed, [](sim::SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 5) throw std::runtime_error("out of memory");
    rank.root()->barrier();
  });
}
BENCHMARK(settled_failure)
    ->Arg(65'536)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
