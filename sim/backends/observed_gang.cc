#include "sim/backends/observed_gang.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "sim/backends/strikes.h"
#include "sim/engine/engine.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/sim_gang.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/report.h"
#include "sim/state/pending_operation.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// Records in the digest how a call ends: with an exception, unless completed() was called.
class NotedEnd {
 public:
  NotedEnd(World& world, const GangState& gang, std::uint64_t sequence_number) noexcept
      : world_(world), gang_(gang), sequence_number_(sequence_number) {}
  ~NotedEnd() {
    const Engine::Guard guard(world_.engine);
    if (!world_.engine.is_over())
      world_.recorder.ended(kind_, gang_, sequence_number_, world_.engine.now());
  }
  NotedEnd(const NotedEnd&) = delete;
  NotedEnd& operator=(const NotedEnd&) = delete;

  void completed() noexcept { kind_ = TraceEventKind::complete; }

 private:
  World& world_;
  const GangState& gang_;
  std::uint64_t sequence_number_;
  TraceEventKind kind_ = TraceEventKind::fail;
};

}  // namespace

std::shared_ptr<GangState> ObservedGangs::find(const GangState* parent, std::uint64_t ordinal,
                                               const GangInfo& info) {
  const std::int64_t above = parent == nullptr ? -1 : static_cast<std::int64_t>(parent->index);
  std::weak_ptr<GangState>& known = gangs_[{above, ordinal, info.root_ranks}];
  std::shared_ptr<GangState> state = known.lock();
  if (state == nullptr) {
    state = world_.matching.make_gang(info);
    known = state;
  }
  return state;
}

ObservedGang::ObservedGang(const Observation& observation, std::shared_ptr<GangState> state,
                           std::shared_ptr<Gang> inner)
    : ForwardingGang(std::move(inner)),
      observation_(observation),
      state_(std::move(state)),
      is_refused_(observation.world.engine.current().rank->incarnation > 0) {}

ObservedGang::~ObservedGang() {
  Engine& engine = observation_.world.engine;
  const Engine::Guard guard(engine);
  if (engine.is_over()) return;
  state_->note_departure(rank(), {next_sequence_, {}});
  if (std::uncaught_exceptions() > 0) abandon(*engine.current().rank);
}

// An exception unwinds past the gang. Closing it takes time, in which others may fail before the
// run knows why: until then, this is the cause.
void ObservedGang::abandon(RankState& owner) {
  owner.make_rare().abandoned.push_back(state_);
  if (state_->broken != nullptr) return;
  Finding finding;
  finding.id = finding_id::rank_failed;
  finding.ranks = {owner.rank};
  finding.gang = state_->gang_label();
  finding.message = fmt::format("An exception made rank {} let go of {} while others used it.",
                                owner.rank, state_->label());
  if (const LastCall last = last_call_of(owner); last.gang != nullptr)
    finding.location = location_of(last.call_site);
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->finding_if_fatal = std::make_shared<const Finding>(std::move(finding));
  owner.make_rare().broken_by_unwinding.push_back(cause);
  state_->broken = std::move(cause);
}

// Counts a call, under the engine's Guard.
void ObservedGang::note(const Collective& call) {
  World& world = observation_.world;
  ++world.counts.rank_operations;
  LastCall& last = world.engine.current().rank->make_noted_call().call;
  last.kind = call.kind;
  last.sequence_number = call.sequence_number;
  last.call_site = call.call_site;
  if (last.gang != state_->info) last.gang = state_->info;
}

// Others may run before the call, as before one on a simulator's own gang.
void ObservedGang::begin(Operation& operation) {
  Engine& engine = observation_.world.engine;
  require_running(engine, name());
  {
    const Engine::Guard guard(engine);
    engine.scheduling_point();
    engine.check_running();
    if (Guide* guide = engine.choices().guide())
      note_foreign_call(*guide, *state_, rank(), engine.current(), operation.collective);
  }
  number(operation);
}

// Mirrors the gang's own numbering, and caps the timeout at the rank's watchdog.
void ObservedGang::number(Operation& operation) noexcept {
  Collective& call = operation.collective;
  const auto& watchdog = observation_.world.options.watchdog;
  if (watchdog && call.kind != OperationKind::monitored_barrier)
    operation.timeout = std::min(operation.timeout, *watchdog);
  call.sequence_number = is_point_to_point(call.kind) ? next_message_++ : next_sequence_++;
}

std::shared_ptr<Gang> ObservedGang::wrap(std::shared_ptr<Gang> child) {
  const Engine::Guard guard(observation_.world.engine);
  auto state = observation_.gangs.find(state_.get(), children_made_, child->info());
  return std::make_shared<ObservedGang>(observation_, std::move(state), std::move(child));
}

// Like `run`, but records no events. This common case must be cheap compared to Gloo.
Received ObservedGang::run_unrecorded(Operation& operation) {
  World& world = observation_.world;
  {
    const Engine::Guard guard(world.engine);
    note(operation.collective);
    world.recorder.called(world.engine.current(), *state_, operation.collective,
                          world.engine.now());
  }
  NotedEnd end(world, *state_, operation.collective.sequence_number);
  const Received received = ForwardingGang::do_run(operation);
  end.completed();
  return received;
}

Received ObservedGang::do_run(Operation& operation) {
  World& world = observation_.world;
  begin(operation);
  const OperationKind kind = operation.collective.kind;
  if (kind == OperationKind::create_gang || kind == OperationKind::split) ++children_made_;
  if (world.interference != nullptr) [[unlikely]]
    return run_under_faults(operation);
  if (!world.recorder.is_recording()) [[likely]]
    return run_unrecorded(operation);
  PendingOperation pending(operation, *state_, rank(), world.engine.current());
  if (const std::exception_ptr error = run(operation, pending)) std::rethrow_exception(error);
  return pending.received;
}

// Performs the operation. Returns the error that it ends with, or null.
std::exception_ptr ObservedGang::run(Operation& operation, PendingOperation& pending) {
  World& world = observation_.world;
  {
    const Engine::Guard guard(world.engine);
    note(operation.collective);
    pending.posted_at = world.engine.now();
    world.recorder.posted(pending, pending.posted_at);
  }
  std::exception_ptr error;
  try {
    pending.received = ForwardingGang::do_run(operation);
  } catch (const Error&) {
    error = std::current_exception();
  }
  const Engine::Guard guard(world.engine);
  const auto kind = error == nullptr ? TraceEventKind::complete : TraceEventKind::fail;
  world.recorder.ended(kind, *state_, operation.collective.sequence_number, world.engine.now());
  world.recorder.ended_for(kind, pending, world.engine.now());
  return error;
}

Work ObservedGang::do_start(Operation& operation) {
  World& world = observation_.world;
  begin(operation);
  CallFaults faults;
  if (world.interference != nullptr) [[unlikely]]
    faults = faults_before(operation);
  if (faults.late != nullptr) world.interference->links().send_late(world.engine.current(), faults);
  {
    const Engine::Guard guard(world.engine);
    note(operation.collective);
  }
  if (world.interference == nullptr) return ForwardingGang::do_start(operation);
  Work work;
  std::exception_ptr error;
  try {
    work = ForwardingGang::do_start(operation);
  } catch (const Error&) {
    error = std::current_exception();
  }
  PendingOperation pending(operation, *state_, rank(), world.engine.current());
  faults.result = nullptr;  // only available later, elsewhere
  world.interference->inside(pending, faults);
  if (error != nullptr) std::rethrow_exception(error);
  world.interference->after(pending, faults);
  abort_as_told();
  return work;
}

CallFaults ObservedGang::faults_before(Operation& operation) {
  World& world = observation_.world;
  if (is_refused_)
    world.interference->refuse(world.engine.current(), *state_, rank(), operation.collective);
  const CallFaults faults = world.interference->before(world.engine.current(), *state_, operation);
  abort_as_told();
  return faults;
}

// Aborts the gang if a watchdog has marked its state as broken.
void ObservedGang::abort_as_told() {
  if (state_->broken == nullptr || state_->broken->kind != GangErrorKind::aborted) return;
  if (state_->broken->aborted_by != no_rank) return;  // by a program
  inner().abort();
}

Received ObservedGang::run_under_faults(Operation& operation) {
  World& world = observation_.world;
  Interference& interference = *world.interference;
  CallFaults faults = faults_before(operation);
  const auto contribution = interference.corrupt_contribution(operation, rank(), faults);
  PendingOperation pending(operation, *state_, rank(), world.engine.current());
  interference.inside(pending, {.result = faults.result});
  std::exception_ptr error;
  {
    const ArmedStrike strike(observation_.strikes, pending, faults.inside);
    error = run(operation, pending);
  }
  // Trigger a fault that did not strike because the operation failed or had too few messages.
  interference.inside(pending, {.inside = faults.inside});
  if (error != nullptr) std::rethrow_exception(error);
  if (pending.faults().corrupted_by >= 0) interference.corrupt_result(pending);
  interference.after(pending, faults);
  abort_as_told();
  return pending.received;
}

std::shared_ptr<Gang> ObservedGang::do_shrink(const ShrinkOptions& options,
                                              const CallSite& call_site) {
  require_running(observation_.world.engine, name());
  if (is_refused_) {
    Collective call;
    call.kind = OperationKind::shrink;
    call.call_site = call_site;
    Interference& interference = *observation_.world.interference;
    interference.refuse(observation_.world.engine.current(), *state_, rank(), call);
  }
  ++children_made_;
  return ForwardingGang::do_shrink(options, call_site);
}

void ObservedGang::do_abort() {
  World& world = observation_.world;
  require_running(world.engine, name());
  {
    const Engine::Guard guard(world.engine);
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::aborted;
    cause->aborted_by = state_->root_rank_of(rank());
    cause->aborted_after = last_call_of(*world.engine.current().rank);
    if (state_->broken == nullptr) state_->broken = std::move(cause);
  }
  ForwardingGang::do_abort();
}

}  // namespace gang::sim
