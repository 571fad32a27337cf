// The backends that a program can run on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/enum_names.h"
#include "harness/program/program.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::harness {

enum class BackendKind : std::uint8_t { fake, sim, sim_gloo, sim_nccl, gloo, nccl };

inline constexpr auto backend_names =
    names_in_order<BackendKind>("fake", "sim", "sim-gloo", "sim-nccl", "gloo", "nccl");

constexpr std::string_view to_string(BackendKind kind) noexcept {
  return name_of(backend_names, kind);
}

// The backend called `name`. Throws InvalidArgument: --backend, the name, the known ones.
BackendKind parse_backend(std::string_view name);

// Whether all ranks run in this process, in virtual time.
constexpr bool is_simulated(BackendKind kind) noexcept {
  return kind == BackendKind::sim || kind == BackendKind::sim_gloo || kind == BackendKind::sim_nccl;
}

// What the gangs of a simulated backend are; `sim` for the others.
sim::SimulatedBackend simulated_backend(BackendKind kind) noexcept;

// What a backend is asked to run; valid during the call.
struct Launch {
  const Program& program;
  const RunContext& context;
  const sim::SimulationOptions& options;
};

// A backend as a value. One that this build lacks is a value too: it says why.
struct Backend {
  BackendKind kind = BackendKind::sim;
  std::string description;  // one line
  std::string unavailable;  // why it cannot be used here; empty if it can

  // Runs the program on all ranks and reports. What the program does wrong is in the report.
  // Throws InvalidArgument for bad options.
  std::function<sim::Report(const Launch&)> run;

  bool is_available() const noexcept { return unavailable.empty(); }
};

// In the order of BackendKind.
const std::vector<Backend>& all_backends();

// Throws NotSupported with the reason if the backend is unavailable.
const Backend& require_backend(BackendKind kind);

}  // namespace gang::harness
