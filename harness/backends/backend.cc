#include "harness/backends/backend.h"

#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "gang/root_gang.h"
#include "gang/runtime.h"
#include "harness/backends/gloo_backend.h"
#include "harness/backends/nccl_backend.h"
#include "harness/text/suggestion.h"
#include "sim/simulation.h"

namespace gang::harness {
namespace {

sim::Report run_simulated(const Launch& launch) {
  const sim::RankProgram program = [&launch](sim::SimulatedRank& simulated) {
    Rank rank{simulated, launch.context};
    launch.context.recorder.begin_rank(rank.rank());
    launch.program.run(rank);
  };
  if (launch.recheck) return sim::run_rechecked(launch.options, program);
  return sim::Simulation{launch.options}.run(program);
}

// The program once, as rank 0 of a gang whose other ranks are imagined.
sim::Report run_fake(const Launch& launch) {
  sim::Report report;
  const auto began = std::chrono::steady_clock::now();
  const auto root = make_fake_gang(
      {.size = launch.options.world_size, .name = "root", .timeout = launch.options.timeout});
  const auto runtime = make_real_runtime();
  try {
    Rank rank{
        {.rank = 0, .world_size = launch.options.world_size, .root = root, .runtime = *runtime},
        launch.context};
    launch.program.run(rank);
  } catch (const std::exception& error) {
    report.outcome = sim::Outcome::failed;
    report.findings.push_back({.id = std::string{sim::finding_id::rank_failed},
                               .ranks = {0},
                               .message = fmt::format("Rank 0 failed: {}.", error.what())});
  }
  report.wall_time = std::chrono::steady_clock::now() - began;
  return report;
}

Backend gloo_backend() {
  Backend backend{.name = "gloo", .description = "a process per rank, over Gloo"};
  const BackendAvailability availability = gloo_availability();
  if (availability.is_available)
    backend.run = run_on_gloo;
  else
    backend.unavailable = "is unavailable: " + availability.reason;
  return backend;
}

Backend sim_gloo_backend() {
  Backend backend{.name = "sim-gloo",
                  .description = "all ranks in this process, over the algorithms of Gloo"};
  const BackendAvailability availability = gloo_availability();
  if (availability.is_available) {
    backend.run = [](const Launch& launch) {
      sim::SimulationOptions options = launch.options;
      options.backend = sim::SimulatedBackend::gloo;
      return run_simulated({launch.program, launch.context, options, launch.recheck});
    };
  } else {
    backend.unavailable = "is unavailable: " + availability.reason;
  }
  return backend;
}

Backend nccl_backend() {
  Backend backend{.name = "nccl", .description = "a process and a GPU per rank, over NCCL"};
  const BackendAvailability availability = nccl_availability();
  if (availability.is_available)
    backend.run = run_on_nccl;
  else
    backend.unavailable = "is unavailable: " + availability.reason;
  return backend;
}

sim::Report run_on_simulated_nccl(const Launch& launch) {
  sim::SimulationOptions options = launch.options;
  options.backend = sim::SimulatedBackend::nccl;
  return run_simulated({launch.program, launch.context, options, launch.recheck});
}

std::vector<Backend> make_backends() {
  return {
      {.name = "fake",
       .description = "one rank; the others are imagined to hold the same data",
       .run = run_fake},
      {.name = "sim",
       .description = "all ranks in this process: exact meaning, virtual time, any schedule",
       .run = run_simulated},
      sim_gloo_backend(),
      {.name = "sim-nccl",
       .description = "all ranks in this process, over a simulated NCCL and its streams",
       .run = run_on_simulated_nccl},
      gloo_backend(),
      nccl_backend(),
  };
}

}  // namespace

const std::vector<Backend>& all_backends() {
  static const std::vector<Backend> backends = make_backends();
  return backends;
}

const Backend& find_backend(std::string_view name) {
  std::vector<std::string> names;
  for (const Backend& backend : all_backends()) {
    if (backend.name == name) return backend;
    names.push_back(backend.name);
  }
  throw InvalidArgument("--backend " + unknown_name(name, names));
}

const Backend& require_backend(std::string_view name) {
  const Backend& backend = find_backend(name);
  if (!backend.is_available()) {
    throw NotSupported(fmt::format("backend {} {}", backend.name, backend.unavailable));
  }
  return backend;
}

}  // namespace gang::harness
