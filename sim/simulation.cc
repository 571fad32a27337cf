#include "sim/simulation.h"

#include <algorithm>

#include <fmt/format.h>

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
