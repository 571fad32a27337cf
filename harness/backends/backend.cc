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
  return sim::Simulation{launch.options}.run(program);
}

// The program once, as rank 0 of a gang whose other ranks are assumed to hold the same data.
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

// `backend`, with the reason if it cannot run here.
Backend where_available(Backend backend, const BackendAvailability& availability) {
  if (!availability.is_available) backend.unavailable = availability.reason;
  return backend;
}

std::vector<Backend> make_backends() {
  return {
      {.kind = BackendKind::fake,
       .description = "one rank; the others are assumed to hold the same data",
       .run = run_fake},
      {.kind = BackendKind::sim,
       .description = "all ranks in this process: exact semantics, virtual time, any schedule",
       .run = run_simulated},
      where_available({.kind = BackendKind::sim_gloo,
                       .description = "all ranks in this process, over the algorithms of Gloo",
                       .run = run_simulated},
                      gloo_availability()),
      {.kind = BackendKind::sim_nccl,
       .description = "all ranks in this process, over a simulated NCCL and its streams",
       .run = run_simulated},
      where_available({.kind = BackendKind::gloo,
                       .description = "one process per rank, over Gloo",
                       .run = run_on_gloo},
                      gloo_availability()),
      where_available({.kind = BackendKind::nccl,
                       .description = "one process and one GPU per rank, over NCCL",
                       .run = run_on_nccl},
                      nccl_availability()),
  };
}

}  // namespace

BackendKind parse_backend(std::string_view name) {
  if (const auto kind = parse_name(backend_names, name)) return *kind;
  throw InvalidArgument("--backend " + unknown_name(name, backend_names));
}

sim::SimulatedBackend simulated_backend(BackendKind kind) noexcept {
  if (kind == BackendKind::sim_gloo) return sim::SimulatedBackend::gloo;
  return kind == BackendKind::sim_nccl ? sim::SimulatedBackend::nccl : sim::SimulatedBackend::sim;
}

const std::vector<Backend>& all_backends() {
  static const std::vector<Backend> backends = make_backends();
  return backends;
}

const Backend& require_backend(BackendKind kind) {
  const Backend& backend = all_backends()[static_cast<std::size_t>(kind)];
  if (backend.is_available()) return backend;
  throw NotSupported(
      fmt::format("backend {} is unavailable: {}", to_string(kind), backend.unavailable));
}

}  // namespace gang::harness
