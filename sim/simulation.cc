#include "sim/simulation.h"

#include "sim/contexts/wall_clock.h"
#include "sim/run.h"

namespace gang::sim {

SimulatedRank::SimulatedRank(Run& run, int rank, std::shared_ptr<Gang> root, int incarnation)
    : run_(run), root_(std::move(root)), rank_(rank), incarnation_(incarnation) {}

World& SimulatedRank::world() noexcept { return run_.world(); }

int SimulatedRank::world_size() const noexcept { return run_.world().options.world_size; }

Runtime& SimulatedRank::runtime() noexcept { return run_.world().runtime; }

RandomStream SimulatedRank::random_stream(std::string_view name) const noexcept {
  return {run_.world().options.seed, name, static_cast<std::uint64_t>(rank_)};
}

bool SimulatedRank::faults_have_fired() const noexcept {
  const Engine::Guard guard(run_.world().engine);
  return run_.faults() != nullptr && run_.faults()->have_fired();
}

std::shared_ptr<Gang> SimulatedRank::second_root() {
  const Engine::Guard guard(run_.world().engine);
  return run_.second_root();
}

void SimulatedRank::stop_faults() noexcept {
  const Engine::Guard guard(run_.world().engine);
  if (run_.faults() != nullptr) run_.faults()->stop(rank_);
}

Report SimulatedRank::examine() const {
  const Engine::Guard guard(run_.world().engine);
  return run_.examine();
}

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)) {
  validate(options_);
}

Simulation::~Simulation() = default;

Report Simulation::run(const RankProgram& program) {
  // Gangs of real backends may outlive this object, too.
  struct Kept {
    std::unique_ptr<const SimulationOptions> options;
    std::unique_ptr<Run> run;  // the first to go
  };
  const WallClock wall_clock;
  Kept kept;
  if (options_.backend != SimulatedBackend::sim)
    kept.options = std::make_unique<const SimulationOptions>(options_);
  kept.run = std::make_unique<Run>(kept.options ? *kept.options : options_, program);
  Report report = kept.run->run();
  if (ForeignGangs* gangs = kept.run->world().foreign_gangs)
    gangs->keep(std::make_shared<Kept>(std::move(kept)));
  report.wall_time = wall_clock.elapsed();
  return report;
}

}  // namespace gang::sim
