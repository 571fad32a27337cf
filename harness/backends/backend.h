// The backends that a program can run on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/program.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::harness {

// What a backend is asked to run; valid during the call.
struct Launch {
  const Program& program;
  const RunContext& context;
  const sim::SimulationOptions& options;
  bool recheck = false;  // run twice and compare the traces
};

// A backend as a value. One that this build lacks is a value too: it says why.
struct Backend {
  std::string name;         // "sim"
  std::string description;  // one line
  std::string unavailable;  // why it cannot be used here; empty: it can

  // Runs the program on all ranks and reports. What the program does wrong is in the report.
  // Throws InvalidArgument for bad options.
  std::function<sim::Report(const Launch&)> run;

  bool is_available() const noexcept { return unavailable.empty(); }
};

// fake, sim, sim-gloo, sim-nccl, gloo, nccl.
const std::vector<Backend>& all_backends();

// The backend called `name`. Throws InvalidArgument that lists the names.
const Backend& find_backend(std::string_view name);

// The same; throws NotSupported with the reason where it is unavailable.
const Backend& require_backend(std::string_view name);

}  // namespace gang::harness
