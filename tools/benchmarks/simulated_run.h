// A benchmark case that is one simulated run.
#pragma once

#include <string>

#include <benchmark/benchmark.h>

#include "sim/simulation.h"

namespace gang::benchmarks {

// Runs `program` once and makes the run's own wall time (creation of the ranks to report) the time
// of this iteration. Adds up rank operations and switches for the counters below.
// Skips the case with the report's text unless the run held.
class SimulatedRuns {
 public:
  explicit SimulatedRuns(benchmark::State& state) : state_(state) {}

  void run(const sim::SimulationOptions& options, const sim::RankProgram& program) {
    const sim::Report report = sim::Simulation(options).run(program);
    if (!report.holds()) {
      state_.SkipWithError(to_string(report).c_str());
      return;
    }
    state_.SetIterationTime(std::chrono::duration<double>(report.wall_time).count());
    wall_ns_ += static_cast<double>(report.wall_time.count());
    rank_operations_ += static_cast<double>(report.counts.rank_operations);
    switches_ += static_cast<double>(report.counts.switches);
  }

  // Counter "ns_per_rank_operation".
  void report_rank_operations() {
    state_.counters["ns_per_rank_operation"] = wall_ns_ / rank_operations_;
  }

  // Counter "ns_per_switch".
  void report_switches() { state_.counters["ns_per_switch"] = wall_ns_ / switches_; }

  double wall_ns() const noexcept { return wall_ns_; }

 private:
  benchmark::State& state_;
  double wall_ns_ = 0;
  double rank_operations_ = 0;
  double switches_ = 0;
};

}  // namespace gang::benchmarks
