#include "sim/matching/sim_gang.h"

#include <algorithm>
#include <exception>

#include "sim/injection/fault_injector.h"
#include "sim/matching/matching.h"
#include "sim/matching/shrinking.h"
#include "sim/matching/sim_work.h"
#include "sim/verdict/failure.h"

namespace gang::sim {

SimGang::SimGang(Engine& engine, std::shared_ptr<GangState> state, int rank, RankState& owner)
    : Gang(state->info, rank),
      engine_(&engine),
      state_(std::move(state)),
      is_refused_(owner.incarnation > 0),
      owner_(&owner) {
  next_ = owner.gangs;
  if (next_ != nullptr) next_->previous_ = this;
  owner.gangs = this;
}

SimGang::~SimGang() {
  close();
  if (engine_ == nullptr) return;
  const Engine::Guard guard(*engine_);
  (previous_ != nullptr ? previous_->next_ : owner_->gangs) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  if (last_called_at() > owner_->last_called_at) {
    owner_->last_call = last_call();
    owner_->last_called_at = last_called_at();
  }
  if (!engine_->is_over()) {
    if (next_sequence_ > 0)
      state_->departures.push_back(
          {rank(), next_sequence_, CallSite::at(last_collective_.file, last_collective_.line)});
    if (std::uncaught_exceptions() > 0) owner_->abandoned.push_back(state_);
  }
  state_.reset();  // under the guard
}

void SimGang::detach() noexcept {
  engine_ = nullptr;
  state_.reset();
}

Engine& SimGang::engine() const {
  if (engine_ == nullptr) [[unlikely]]
    throw InvalidOperation(name() + " was used after the end of its simulation");
  return *engine_;
}

void SimGang::number(Engine& engine, Operation& operation) noexcept {
  Collective& call = operation.collective;
  const bool is_collective = !is_point_to_point(call.kind);
  call.sequence_number = is_collective ? next_sequence_++ : next_message_++;
  (is_collective ? last_collective_ : last_message_) = {engine.next_call(), call.call_site.file,
                                                        call.call_site.line, call.kind};
}

LastCall SimGang::last_call() const {
  const CallNote& note = last_note();
  return {.kind = note.kind,
          .sequence_number = (is_point_to_point(note.kind) ? next_message_ : next_sequence_) - 1,
          .call_site = CallSite::at(note.file, note.line),
          .gang = state_->info};
}

Received SimGang::finish(Engine& engine, PendingOperation& pending) {
  if (pending.call().kind == OperationKind::monitored_barrier)
    return run_monitored_barrier(pending);
  if (!Matching::has_ended(pending)) {
    PendingOperation* const waited_for[] = {&pending};
    const Wait wait{Wait::Reason::operations, waited_for};
    do engine.block(*pending.task, wait);
    while (!Matching::has_ended(pending));
  }
  return engine.matching().take(pending);
}

Received SimGang::do_run(Operation& operation) {
  Engine& engine = this->engine();
  const Engine::Guard guard(engine);
  engine.scheduling_point();
  if (engine.faults() != nullptr && may_be_struck(engine)) [[unlikely]]
    return run_under_faults(engine, operation);
  number(engine, operation);
  PendingOperation pending(operation, *state_, rank(), engine.current());
  post(engine, pending);
  return finish(engine, pending);
}

void SimGang::post(Engine& engine, PendingOperation& pending) {
  pending.waiter = pending.task;
  if (pending.call().kind == OperationKind::batch) expand_batch(pending);
  engine.matching().post(pending);
}

// Counts the call where it passes unharmed.
bool SimGang::may_be_struck(Engine& engine) const noexcept {
  return is_refused_ || !engine.faults()->passes_unharmed(owner_->rank);
}

CallFaults SimGang::faults_before(Engine& engine, Operation& operation) {
  Collective& call = operation.collective;
  call.sequence_number = is_point_to_point(call.kind) ? next_message_ : next_sequence_;
  if (is_refused_) engine.faults()->refuse(engine.current(), *state_, rank(), call);
  return engine.faults()->before(engine.current(), *state_, operation);
}

Received SimGang::run_under_faults(Engine& engine, Operation& operation) {
  FaultInjector& injector = *engine.faults();
  const CallFaults faults = faults_before(engine, operation);
  number(engine, operation);
  const CorruptedContribution contribution(injector, operation, rank(), faults);
  PendingOperation pending(operation, *state_, rank(), engine.current());
  post(engine, pending);
  injector.inside(pending, faults);
  const Received received = finish(engine, pending);
  if (pending.corrupted_by >= 0) injector.corrupt_result(pending);
  injector.after(pending, faults);
  return received;
}

Received SimGang::run_monitored_barrier(PendingOperation& pending) {
  Engine& engine = this->engine();
  PendingOperation* const waited_for[] = {&pending};
  const Wait wait{Wait::Reason::operations, waited_for};
  while (!Matching::has_ended(pending)) {
    if (engine.now() >= pending.deadline) {
      // Whoever comes at this very time has come in time: all others go first.
      engine.poll(&pending);
      if (!Matching::has_ended(pending)) fail_monitored_barrier(engine, pending);
      break;
    }
    if (pending.deadline != TimePoint::max()) engine.wake_at(pending.deadline, engine.current());
    engine.block(engine.current(), wait);
  }
  return engine.matching().take(pending);
}

Work SimGang::do_start(Operation& operation) {
  Engine& engine = this->engine();
  const Engine::Guard guard(engine);
  engine.scheduling_point();
  CallFaults faults;
  const bool may_be_struck = engine.faults() != nullptr && this->may_be_struck(engine);
  if (may_be_struck) [[unlikely]]
    faults = faults_before(engine, operation);
  number(engine, operation);
  auto work = std::make_shared<SimWork>(operation, state_, rank(), engine.current());
  if (may_be_struck) [[unlikely]]
    engine.faults()->copy_late(work->pending(), faults);
  work->post();
  if (may_be_struck) [[unlikely]] {
    engine.faults()->inside(work->pending(), faults);
    engine.faults()->after(work->pending(), faults);
  }
  return Work(std::move(work));
}

std::shared_ptr<Gang> SimGang::do_shrink(const ShrinkOptions& options, const CallSite& call_site) {
  Engine& engine = this->engine();
  const Engine::Guard guard(engine);
  engine.scheduling_point();
  if (is_refused_) {
    Collective call;
    call.kind = OperationKind::shrink;
    engine.faults()->refuse(engine.current(), *state_, rank(), call);
  }
  ChildSeat seat = shrink_gang(engine, *state_, rank(), options, call_site);
  auto gang = std::make_shared<SimGang>(engine, std::move(seat.gang), seat.rank, *owner_);
  gang->set_made_at(call_site);
  return gang;
}

void SimGang::do_abort() {
  Engine& engine = this->engine();
  const Engine::Guard guard(engine);
  engine.scheduling_point();
  // The stacks of a run that is over are being unwound, and pending operations with them.
  if (engine.is_over()) return;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::aborted;
  cause->reason = "rank " + std::to_string(rank()) + " aborted the gang";
  cause->aborted_by = state_->root_rank_of(rank());
  cause->aborted_after = last_call_of(*owner_);
  engine.matching().break_gang(*state_, std::move(cause));
}

std::vector<std::shared_ptr<GangState>> gangs_held_by(const RankState& rank) {
  std::vector<std::shared_ptr<GangState>> gangs;
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    gangs.push_back(gang->state());
  std::ranges::sort(gangs, {}, [](const auto& gang) { return gang->index; });
  return gangs;
}

void expand_batch(PendingOperation& batch) {
  const Operation& operation = *batch.operation;
  batch.entries = std::make_unique<BatchEntries>();
  for (const PointToPoint& entry : operation.batch) {
    Operation& single = batch.entries->operations.emplace_back();
    single.collective = operation.collective;
    single.collective.kind = entry.kind;
    single.collective.data_type = entry.tensor.type();
    single.collective.peer = entry.peer;
    single.collective.tag = entry.tag;
    single.collective.shape = entry.tensor.shape();
    single.collective.count = entry.tensor.count();
    single.timeout = operation.timeout;
    single.input = entry.tensor;
    single.output = entry.tensor;
    PendingOperation& pending =
        batch.entries->pendings.emplace_back(single, *batch.gang, batch.member, *batch.task);
    pending.is_async = batch.is_async;
    pending.batch = &batch;
  }
}

}  // namespace gang::sim
