#include "sim/simulation.h"

#include <span>

#include "gang/hash.h"
#include "sim/contexts/wall_clock.h"
#include "sim/engine/awaiting.h"
#include "sim/matching/named_gangs.h"
#include "sim/run.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Gangs of real backends may outlive their simulation.
struct KeptRun {
  KeptRun(const SimulationOptions& of, const RankProgram& program)
      : options(of), run(options, program) {}

  const SimulationOptions options;
  Run run;
};

Report run_and_keep(const SimulationOptions& options, const RankProgram& program) {
  auto kept = std::make_shared<KeptRun>(options, program);
  Report report = kept->run.run();
  kept->run.world().foreign_gangs->keep(std::move(kept));
  return report;
}

constexpr std::uint64_t of_keys = 0x6b6579;
constexpr StepKey number_of_keys = ~of_keys;

// What contexts share of a key: who makes it, what it holds, and whether it is there.
struct KeyObjects {
  explicit KeyObjects(std::string_view key) noexcept
      : making(splitmix64(of_keys, fnv1a(std::as_bytes(std::span(key))))) {}

  StepKey making;
  StepKey value = splitmix64(making, of_keys);
  StepKey presence = splitmix64(value, of_keys);
};

}  // namespace

SimulatedRank::SimulatedRank(Run& run, int rank, std::shared_ptr<Gang> root, int incarnation)
    : run_(run), root_(std::move(root)), rank_(rank), incarnation_(incarnation) {}

World& SimulatedRank::world() noexcept { return run_.world(); }

std::uint64_t SimulatedRank::run_number() const noexcept { return run_.world().number; }

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

void SimulatedRank::wait_outside() {
  const Engine::Guard guard(run_.world().engine);
  sim::wait_outside(run_.world().engine);
}

void SimulatedRank::await_turn() {
  const Engine::Guard guard(run_.world().engine);
  sim::await_turn(run_.world().engine);
}

bool SimulatedRank::others_can_run() const noexcept {
  return sim::others_can_run(run_.world().engine);
}

void SimulatedRank::begin_call() {
  Engine& engine = run_.world().engine;
  const Engine::Guard guard(engine);
  engine.check_running();
  engine.scheduling_point();
}

void SimulatedRank::note_awaited_together(std::string_view key, std::string_view other) {
  Engine& engine = run_.world().engine;
  const Engine::Guard guard(engine);
  if (Guide* const guide = engine.choices().guide())
    guide->awaits_together(KeyObjects(key).presence, KeyObjects(other).presence);
}

void SimulatedRank::note_key(const SharedKey& key, KeyUse use, const CallSite& call_site) {
  Engine& engine = run_.world().engine;
  const Engine::Guard guard(engine);
  using enum KeyUse;
  if (use == changes || use == erases || use == looks || use == counts)
    engine.choices().note_guided_choice();
  Guide* const guide = engine.choices().guide();
  if (guide == nullptr) return;
  const auto [making, value, presence] = KeyObjects(key.name);
  const StepKey made = key.erasures == 0 ? presence : splitmix64(presence, key.erasures);
  const auto access = [&](StepKey object, AccessMode mode) {
    guide->access({.kind = object == presence ? AccessKind::presence : AccessKind::key,
                   .mode = mode,
                   .rank = rank_,
                   .object = object,
                   .site = call_site});
  };
  if (use == comes) guide->join(made);
  if (use == finds || use == finds_out) guide->found(presence);
  if (use == erases) guide->erased(presence);
  if (use == makes || use == erases) access(number_of_keys, AccessMode::arrive);
  if (use == counts) access(number_of_keys, AccessMode::look);
  if (use == makes || use == changes || use == erases) access(making, AccessMode::write);
  if (use == looks) access(making, AccessMode::read);
  if (use == makes || use == erases) access(presence, AccessMode::write);
  if (use == awaits || use == finds || use == finds_out) access(presence, AccessMode::read);
  if (use == changes || use == erases) access(value, AccessMode::write);
  if (use == looks || use == finds_out) access(value, AccessMode::read);
  if (use == makes) guide->publish(made);
}

std::shared_ptr<Gang> SimulatedRank::gang_of(GangInfo info, const CallSite& call_site,
                                             std::string_view key, std::uint64_t first_sequence) {
  const Engine::Guard guard(run_.world().engine);
  const std::string known_as(key.empty() ? info.name : key);
  return run_.world().named_gangs.join(std::move(info), known_as, rank_, call_site, first_sequence);
}

void SimulatedRank::end_as(std::string_view how) noexcept {
  const Engine::Guard guard(run_.world().engine);
  run_.world().rank(rank_).make_rare().ended_as = how;
}

void SimulatedRank::exit_by(std::string_view how, const CallSite& call_site) noexcept {
  const Engine::Guard guard(run_.world().engine);
  RareRankState& rare = run_.world().rank(rank_).make_rare();
  rare.exited_by = how;
  rare.exited_at = call_site;
}

void SimulatedRank::die(ProcessDeath death) {
  const std::string text = "its process " + death.full_text();
  {
    const Engine::Guard guard(run_.world().engine);
    run_.world().rank(rank_).make_rare().death =
        std::make_unique<const ProcessDeath>(std::move(death));
  }
  throw Error(text);
}

Awaited SimulatedRank::await(const AwaitedMessage& message, const std::function<bool()>& has_come,
                             TimePoint deadline) {
  const Engine::Guard guard(run_.world().engine);
  return run_.world().awaiting.await(message, has_come, deadline);
}

TimePoint SimulatedRank::deadline_after(Duration timeout) const noexcept {
  return gang::deadline_after(run_.world().engine.now(), timeout);
}

void SimulatedRank::announce() {
  const Engine::Guard guard(run_.world().engine);
  run_.world().awaiting.announce();
}

void SimulatedRank::note_choice() {
  const Engine::Guard guard(run_.world().engine);
  run_.world().engine.choices().note_choice_point(Unguided::outside);
}

void SimulatedRank::add_finding(Finding finding) {
  const Engine::Guard guard(run_.world().engine);
  FindingLog& findings = run_.world().findings;
  const bool is_predicate = !finding.ranks.empty() && !finding.message.empty() &&
                            finding.message.front() >= 'a' && finding.message.front() <= 'z';
  if (!is_predicate) {
    findings.add(std::move(finding));
    return;
  }
  std::string predicate = std::exchange(finding.message, {});
  findings.add_of_repeated_call(std::move(finding), std::move(predicate));
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
  const WallClock wall_clock;
  Report report = options_.backend == SimulatedBackend::sim ? Run(options_, program).run()
                                                            : run_and_keep(options_, program);
  report.wall_time = wall_clock.elapsed();
  return report;
}

}  // namespace gang::sim
