#include "sim/simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine.h"
#include "sim/faults/fault_injector.h"
#include "sim/wall_clock.h"

namespace gang::sim {

SimulatedRank::SimulatedRank(Engine& engine, int rank, std::shared_ptr<Gang> root, int incarnation)
    : engine_(engine), root_(std::move(root)), rank_(rank), incarnation_(incarnation) {}

int SimulatedRank::world_size() const noexcept { return engine_.options().world_size; }

Runtime& SimulatedRank::runtime() noexcept { return engine_.runtime(); }

RandomStream SimulatedRank::random_stream(std::string_view name) const noexcept {
  return {engine_.options().seed, name, static_cast<std::uint64_t>(rank_)};
}

bool SimulatedRank::faults_have_fired() const noexcept {
  const Engine::Guard guard(engine_);
  return engine_.faults() != nullptr && engine_.faults()->have_fired();
}

std::shared_ptr<Gang> SimulatedRank::spare_root() {
  const Engine::Guard guard(engine_);
  return engine_.spare_root();
}

void SimulatedRank::stop_faults() noexcept {
  const Engine::Guard guard(engine_);
  if (engine_.faults() != nullptr) engine_.faults()->stop(rank_);
}

Report SimulatedRank::examine() const {
  const Engine::Guard guard(engine_);
  return engine_.examine();
}

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)) {
  validate(options_);
}

Simulation::~Simulation() = default;

Report Simulation::run(const RankProgram& program) {
  const WallClock wall_clock;
  Report report;
  {
    Engine engine(options_, program);
    report = engine.run();
  }
  report.wall_time = wall_clock.elapsed();
  return report;
}

namespace {

// Where two traces of one program part, for people.
std::string first_difference(const Trace& first, const Trace& second) {
  const std::size_t common = std::min(first.events.size(), second.events.size());
  std::size_t step = 0;
  while (step < common && first.events[step] == second.events[step]) ++step;
  const auto show = [step](const Trace& trace) {
    if (step >= trace.events.size()) return std::string("the end");
    const TraceEvent& event = trace.events[step];
    return fmt::format("{} of rank {} {} at {}", to_string(event.kind), event.rank, event.operation,
                       event.location);
  };
  return fmt::format("event {}: first {}, then {}", step, show(first), show(second));
}

}  // namespace

Report run_rechecked(const SimulationOptions& options, const RankProgram& program) {
  SimulationOptions recording = options;
  recording.trace = Recording::on;
  Report report = Simulation(recording).run(program);
  Report again = Simulation(recording).run(program);
  if (report.trace.events != again.trace.events || report.trace.digest != again.trace.digest) {
    Finding finding;
    finding.id = finding_id::nondeterminism;
    const std::size_t common = std::min(report.trace.events.size(), again.trace.events.size());
    for (std::size_t i = 0; i < common; ++i) {
      if (report.trace.events[i] == again.trace.events[i]) continue;
      finding.ranks = {report.trace.events[i].rank};
      finding.location = report.trace.events[i].location;
      finding.operation = report.trace.events[i].operation;
      break;
    }
    finding.message = fmt::format(
        "Two runs of one program under one schedule differ, so it depends on something outside "
        "the simulation (a clock, an address, unseeded randomness): {}.",
        first_difference(report.trace, again.trace));
    report.findings.push_back(std::move(finding));
  }
  if (options.trace == Recording::off) report.trace.events.clear();
  return report;
}

}  // namespace gang::sim
