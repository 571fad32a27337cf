// A further run of a program that has been run.
#pragma once

#include <functional>

#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::sim {

// Runs the program of the first run once more, with other options.
using RunAgain = std::function<Report(const SimulationOptions&)>;

// The options of another run, to be changed in what it is made for. It records nothing, and a
// replayed schedule is not followed: that is of the first run.
SimulationOptions another_run(const SimulationOptions& options);

}  // namespace gang::sim
