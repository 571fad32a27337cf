// What is under test.
#pragma once

#include <functional>
#include <memory>

#include "gang/gang.h"
#include "sim/simulation.h"

namespace gang::properties {

// The implementation that a property looks at: the real one, unless a test plants another to see
// the property catch it.
struct Subject {
  // Runs a program on simulated ranks.
  std::function<sim::Report(const sim::SimulationOptions&, const sim::RankProgram&)> simulate =
      [](const sim::SimulationOptions& options, const sim::RankProgram& program) {
        return sim::Simulation(options).run(program);
      };

  // What a program uses in place of a gang that it was given or has made; empty: the gang itself.
  std::function<std::shared_ptr<Gang>(std::shared_ptr<Gang>)> wrap;

  std::shared_ptr<Gang> wrapped(std::shared_ptr<Gang> gang) const {
    return wrap && gang ? wrap(std::move(gang)) : gang;
  }
};

}  // namespace gang::properties
