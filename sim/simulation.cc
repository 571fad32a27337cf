#include "sim/simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/backends/kept_run.h"
#include "sim/contexts/wall_clock.h"
#include "sim/engine/engine.h"
#include "sim/injection/fault_injector.h"

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
  // Gangs of real backends may outlive this object, too.
  std::unique_ptr<SimulationOptions> own;
  if (options_.backend != SimulatedBackend::sim)
    own = std::make_unique<SimulationOptions>(options_);
  auto engine = std::make_unique<Engine>(own != nullptr ? *own : options_, program);
  Report report = engine->run();
  end_of_run({std::move(own), std::move(engine)});
  report.wall_time = wall_clock.elapsed();
  return report;
}

namespace {

// "post of rank 2 barrier #1 at train.cc:41"; of a task, which is no call, without the call.
std::string event_text(const TraceEvent* event) {
  if (event == nullptr) return "the end";
  std::string text = fmt::format("{} of rank {}", to_string(event->kind), event->rank);
  if (!event->operation.empty()) text += " " + event->operation;
  if (!event->location.empty()) text += " at " + event->location;
  return text;
}

// Where two traces of one program part: who is there in either, and the first call of the two.
void point_at_difference(const Trace& first, const Trace& second, Finding& finding) {
  const std::size_t common = std::min(first.events.size(), second.events.size());
  std::size_t step = 0;
  while (step < common && first.events[step] == second.events[step]) ++step;
  const auto event_of = [step](const Trace& trace) {
    return step < trace.events.size() ? &trace.events[step] : nullptr;
  };
  const TraceEvent* const events[] = {event_of(first), event_of(second)};
  for (const TraceEvent* event : events) {
    if (event == nullptr) continue;
    if (std::ranges::count(finding.ranks, event->rank) == 0) finding.ranks.push_back(event->rank);
    if (!finding.location.empty()) continue;
    finding.location = event->location;
    finding.operation = event->operation;
  }
  std::ranges::sort(finding.ranks);
  finding.message = fmt::format(
      "Two runs of one program under one schedule differ, so it depends on something outside "
      "the simulation (a clock, an address, unseeded randomness): event {}: first {}, then {}.",
      step, event_text(events[0]), event_text(events[1]));
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
    point_at_difference(report.trace, again.trace, finding);
    report.findings.push_back(std::move(finding));
  }
  if (options.trace == Recording::off) report.trace.events.clear();
  return report;
}

}  // namespace gang::sim
