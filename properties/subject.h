// What is under test.
#pragma once

#include <functional>
#include <memory>

#include "gang/gang.h"
#include "sim/simulation.h"

namespace gang::properties {

// The implementation that a property checks: the real one, unless a test plants another to see the
// property catch it.
struct Subject {
  // Runs a program on simulated ranks.
  std::function<sim::Report(const sim::SimulationOptions&, const sim::RankProgram&)> simulate =
      [](const sim::SimulationOptions& options, const sim::RankProgram& program) {
        return sim::Simulation(options).run(program);
      };

  // What a program uses in place of each gang that it is given or makes; empty: the gang itself.
  std::function<std::shared_ptr<Gang>(std::shared_ptr<Gang>)> wrap;

  // Where backends may rightly differ; the defaults are those of the simulator's own gangs.
  bool receives_any_tag = true;
  // Messages have tags, and may be received from any source and sent to oneself.
  bool has_tags = true;
  // A Guide can lead its runs. Otherwise nothing is certain where ranks start operations.
  bool is_guided = true;
  // Success of a collective on one rank means that all ranks have called it. Otherwise a broadcast
  // may succeed on a rank that has the data.
  bool completes_together = true;
  // A rank that ends while others wait for it fails them at once, not at their timeouts.
  bool tells_of_ended_ranks = false;
  // The first timeout of a gang ends the operation of every rank; otherwise each rank has its own.
  bool times_out_together = true;

  std::shared_ptr<Gang> wrapped(std::shared_ptr<Gang> gang) const {
    return wrap && gang ? wrap(std::move(gang)) : gang;
  }
};

}  // namespace gang::properties
