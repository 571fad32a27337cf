// A world of N ranks in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "gang/gang.h"
#include "gang/runtime.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

class Run;
struct World;

// What the program of one rank gets. Valid while that program runs; used from its contexts only.
class SimulatedRank {
 public:
  int rank() const noexcept { return rank_; }
  int world_size() const noexcept;
  const std::shared_ptr<Gang>& root() const noexcept { return root_; }

  // How often the rank has been started again by a fault; what it was before is gone.
  int incarnation() const noexcept { return incarnation_; }

  // Threads, time, mutexes of this rank, under the scheduler and the virtual clock.
  Runtime& runtime() noexcept;

  // Whether a fault of the run's plan has happened yet, to whomever.
  bool faults_have_fired() const noexcept;

  // A further gang of all ranks, beside the root, for those who watch programs: nothing that a
  // program has done to its gangs shows in it.
  std::shared_ptr<Gang> second_root();

  // No further fault happens to this rank, nor to its links: to see whether a program recovers.
  void stop_faults() noexcept;

  // A stream of this rank's own, a function of the seed, the rank and `name`.
  RandomStream random_stream(std::string_view name) const noexcept;

  // Who can never continue, as of now, though others run: for a rank that watches the rest. Outcome
  // deadlock with findings and blocked contexts, or completed if all others may still continue,
  // unless an abort or an exception ends what they wait for. Nothing of it is in the run's own
  // report. O(blocked contexts + what they wait for).
  Report examine() const;

  // The parts of the run. Not for programs: sim/ alone knows them.
  World& world() noexcept;

 private:
  friend class Run;
  SimulatedRank(Run& run, int rank, std::shared_ptr<Gang> root, int incarnation);

  Run& run_;
  std::shared_ptr<Gang> root_;
  int rank_;
  int incarnation_;
};

using RankProgram = std::function<void(SimulatedRank&)>;

// Runs gang programs on simulated ranks. Two simulations in one process do not know of each other.
//
// Threads: one run at a time per Simulation; different ones may run on different threads.
class Simulation {
 public:
  // Throws InvalidArgument for bad options.
  explicit Simulation(SimulationOptions options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs `program` once on every rank, from creation to verdict, and reports. Blocks. What the
  // program does wrong is in the report; nothing of it is thrown (but std::bad_alloc of ours).
  // Every rank's stack has been unwound when it returns.
  Report run(const RankProgram& program);

  const SimulationOptions& options() const noexcept { return options_; }

 private:
  SimulationOptions options_;
};

// Runs the program twice and compares the traces step by step: a difference is a `nondeterminism`
// finding that names the first differing event, added to the first run's report.
Report run_rechecked(const SimulationOptions& options, const RankProgram& program);

}  // namespace gang::sim
