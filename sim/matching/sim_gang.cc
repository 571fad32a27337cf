#include "sim/matching/sim_gang.h"

#include <algorithm>
#include <exception>
#include <type_traits>

#include "sim/matching/diagnosis.h"
#include "sim/matching/interference.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/posting.h"
#include "sim/matching/shrinking.h"
#include "sim/matching/sim_work.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// With the count of its owners it takes 112 bytes, of which a large world has several per rank.
static_assert(sizeof(SimGang) <= 96);

std::uint64_t noted_at(const RankState& rank) noexcept {
  return rank.noted_call != nullptr ? rank.noted_call->at : 0;
}

}  // namespace

SimGang::SimGang(std::shared_ptr<GangState> state, int rank, RankState& owner)
    : Gang(state->info, rank),
      is_refused_(owner.incarnation > 0),
      state_(state.get()),
      next_sequence_(state_->first_sequence) {
  state_->handles.add(std::move(state));
  next_ = owner.gangs;
  if (next_ != nullptr) next_->previous_ = this;
  owner.gangs = this;
}

SimGang::~SimGang() {
  close();
  if (state_->world == nullptr) {
    state_->handles.drop();
    return;
  }
  Engine& engine = state_->world->engine;
  const Engine::Guard guard(engine);
  RankState& owner = this->owner();
  (previous_ != nullptr ? previous_->next_ : owner.gangs) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  if (last_called_at() > noted_at(owner)) {
    NotedCall& noted = owner.make_noted_call();
    noted.call = last_call();
    noted.at = last_called_at();
  }
  if (!engine.is_over()) {
    if (next_sequence_ > state_->first_sequence)
      state_->note_departure(rank(), {next_sequence_, last_collective_.call_site});
    if (std::uncaught_exceptions() > 0) owner.make_rare().abandoned.push_back(state());
  }
  state_->handles.drop();  // under the guard
}

World& SimGang::world() const {
  if (state_->carrier != termination_target) [[unlikely]]
    state_->world == nullptr ? throw_ended(name()) : throw_foreign_thread(name());
  return *state_->world;
}

// A restarted rank, whose calls are refused, has made no gangs.
void SimGang::close_children() noexcept {
  if (is_refused_ || state_->world == nullptr) return;
  const Engine::Guard guard(state_->world->engine);
  mark_children_closed();
}

void SimGang::mark_children_closed() noexcept {
  if (state_->descent.children_made == 0) return;
  for (SimGang* gang = owner().gangs; gang != nullptr; gang = gang->next_) {
    if (gang->state_->descent.parent != state_->index || gang->is_closed()) continue;
    gang->mark_closed();
    gang->mark_children_closed();
  }
}

RankState& SimGang::owner() const noexcept {
  return state_->world->rank(state_->root_rank_of(rank()));
}

void SimGang::number(World& world, Operation& operation) {
  Collective& call = operation.collective;
  // Written field by field: as a whole it would be put together elsewhere, and copied.
  const auto note = [&](CallNote& last) {
    last.at = world.matching.next_call();
    last.call_site = call.call_site;
  };
  if (!is_point_to_point(call.kind)) [[likely]] {
    call.sequence_number = next_sequence_++;
    note(last_collective_);
    last_collective_kind_ = call.kind;
  } else {
    if (messages_ == nullptr) messages_ = std::make_unique<Messages>();
    call.sequence_number = messages_->next++;
    note(messages_->last);
    messages_->last_kind = call.kind;
  }
}

LastCall SimGang::last_call() const {
  if (is_message_last())
    return {.kind = messages_->last_kind,
            .sequence_number = messages_->next - 1,
            .call_site = messages_->last.call_site,
            .gang = state_->info};
  return {.kind = last_collective_kind_,
          .sequence_number = next_sequence_ - 1,
          .call_site = last_collective_.call_site,
          .gang = state_->info};
}

template <bool is_plain>
Received SimGang::finish(World& world, PendingOperation& pending, bool has_ended) {
  if (!is_plain && pending.call().kind == OperationKind::monitored_barrier)
    return run_monitored_barrier(pending);
  if (!has_ended) {
    const Wait wait{Wait::Reason::operation, &pending};
    is_used_ = true;
    do world.engine.block<is_plain>(*pending.task, wait);
    while (!Matching::has_ended(pending));
    is_used_ = false;
  }
  if constexpr (!is_plain)
    if (const Choices& choices = world.engine.choices();
        choices.guide() != nullptr || choices.looks_at_once()) [[unlikely]]
      note_end_of_call(world, pending, has_ended);
  const Received& received = world.matching.take<is_plain>(pending);
  if constexpr (!is_plain)
    if (SimWork* const works = pending.task->rank->works; works != nullptr) [[unlikely]]
      SimWork::note_waited_by_order(world, works);
  return received;
}

// In explored schedules the return of a call is a step of its own where other contexts of the rank
// could call meanwhile, whether the operation had to be waited for or not.
void SimGang::note_end_of_call(World& world, PendingOperation& pending, bool had_ended) {
  if (pending.task->rank->has_threads && had_ended && world.engine.choices().looks_at_once()) {
    is_used_ = true;
    world.engine.scheduling_point();
    world.engine.check_running();
    is_used_ = false;
  }
  Guide* const guide = world.engine.choices().guide();
  if (guide == nullptr) return;
  if (had_ended)
    note_taken_at_once(*guide, pending);
  else
    note_taken(*guide, pending);
  note_return(*guide, pending);
}

Received SimGang::do_run(Operation& operation) {
  World& world = this->world();
  const bool is_plain = world.engine.are_calls_plain() &&
                        operation.collective.kind != OperationKind::monitored_barrier;
  return is_plain ? run<true>(world, operation) : run_watched(world, operation);
}

Received SimGang::run_watched(World& world, Operation& operation) {
  return run<false>(world, operation);
}

template <bool is_plain>
Received SimGang::run(World& world, Operation& operation) {
  const std::conditional_t<is_plain, NoGuard, Engine::Guard> guard(world.engine);
  if (!is_plain) {
    world.engine.scheduling_point();
    if (world.interference != nullptr && counts_towards_faults(world)) [[unlikely]]
      return run_under_faults(world, operation);
  }
  if (is_used_) [[unlikely]]
    note_use_at_once(world, operation);
  number(world, operation);
  PendingOperation pending(operation, *state_, rank(), world.engine.current<is_plain>());
  return finish<is_plain>(world, pending, post<is_plain>(world, pending));
}

void SimGang::note_use_at_once(World& world, Operation& operation) {
  operation.collective.sequence_number = next_number(operation.collective.kind);
  world.diagnosis.used_at_once(
      PendingOperation(operation, *state_, rank(), world.engine.current()));
}

template <bool is_plain>
bool SimGang::post(World& world, PendingOperation& pending) {
  pending.waiter = pending.task;
  if (!is_plain && pending.call().kind == OperationKind::batch) expand_batch(pending);
  return world.matching.post_inline<is_plain>(pending);
}

// Counts the call if it passes unharmed.
bool SimGang::counts_towards_faults(World& world) const noexcept {
  return is_refused_ || !world.interference->passes_unharmed(state_->root_rank_of(rank()));
}

CallFaults SimGang::faults_before(World& world, Operation& operation) {
  world.engine.check_running();  // it may have ended while others went first
  Collective& call = operation.collective;
  call.sequence_number = next_number(call.kind);
  if (is_refused_) world.interference->refuse(world.engine.current(), *state_, rank(), call);
  return world.interference->before(world.engine.current(), *state_, operation);
}

Received SimGang::run_under_faults(World& world, Operation& operation) {
  Interference& interference = *world.interference;
  const CallFaults faults = faults_before(world, operation);
  number(world, operation);
  const auto contribution = interference.corrupt_contribution(operation, rank(), faults);
  PendingOperation pending(operation, *state_, rank(), world.engine.current());
  post<false>(world, pending);
  interference.inside(pending, faults);
  const Received received = finish<false>(world, pending, Matching::has_ended(pending));
  if (pending.faults().corrupted_by >= 0) interference.corrupt_result(pending);
  interference.after(pending, faults);
  return received;
}

Received SimGang::run_monitored_barrier(PendingOperation& pending) {
  World& world = this->world();
  const bool had_ended = Matching::has_ended(pending);
  {
    const OperationDeadlines::MonitoredWait waiting(world.matching.deadlines(), pending);
    const Wait wait{Wait::Reason::operation, &pending};
    while (!Matching::has_ended(pending)) world.engine.block(world.engine.current(), wait);
  }
  note_end_of_call(world, pending, had_ended);
  return world.matching.take(pending);
}

Work SimGang::do_start(Operation& operation) {
  World& world = this->world();
  if (!world.engine.are_calls_plain()) return start_watched(world, operation);
  std::shared_ptr<SimWork> failed;
  return Work(posted_work<true>(world, operation, nullptr, failed));
}

template <bool is_plain>
std::shared_ptr<SimWork> SimGang::posted_work(World& world, Operation& operation,
                                              const CallFaults* faults,
                                              std::shared_ptr<SimWork>& failed) {
  if (is_used_) [[unlikely]]
    note_use_at_once(world, operation);
  number(world, operation);
  // Where it is made it stays: once moved, what was just written would be waited for.
  std::shared_ptr<SimWork> work = std::allocate_shared<SimWork>(
      RecyclingAllocator<SimWork>(), operation, *state_, rank(), world.engine.current<is_plain>());
  if (faults != nullptr) world.interference->links().copy_late(work->pending(), *faults);
  try {
    work->post<is_plain>(world);
  } catch (...) {
    failed = std::move(work);
    throw;
  }
  return work;
}

Work SimGang::start_watched(World& world, Operation& operation) {
  std::shared_ptr<SimWork> failed;  // destroyed without the guard
  Work started;                     // the same, where a fault leaves the call
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  if (world.interference == nullptr || !counts_towards_faults(world)) [[likely]]
    return Work(posted_work<false>(world, operation, nullptr, failed));
  const CallFaults faults = faults_before(world, operation);
  const auto work = posted_work<false>(world, operation, &faults, failed);
  started = Work(work);
  world.interference->inside(work->pending(), faults);
  world.interference->after(work->pending(), faults);
  return started;
}

std::shared_ptr<Gang> SimGang::do_shrink(const ShrinkOptions& options, const CallSite& call_site) {
  World& world = this->world();
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  world.engine.check_running();
  if (is_refused_) {
    Collective call;
    call.kind = OperationKind::shrink;
    world.interference->refuse(world.engine.current(), *state_, rank(), call);
  }
  ChildSeat seat = shrink_gang(world, *state_, rank(), options, call_site);
  seat.gang->making_places.note(seat.rank, call_site);
  return std::make_shared<SimGang>(std::move(seat.gang), seat.rank, owner());
}

void SimGang::do_abort() {
  World& world = this->world();
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  // The run is over: its stacks are being unwound, and pending operations with them.
  if (world.engine.is_over()) return;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::aborted;
  cause->aborted_by = state_->root_rank_of(rank());
  cause->reason = "rank " + std::to_string(cause->aborted_by) + " aborted the gang";
  cause->aborted_after = last_call_of(owner());
  world.matching.break_gang(*state_, std::move(cause));
}

std::vector<std::shared_ptr<GangState>> gangs_held_by(const RankState& rank) {
  std::vector<std::shared_ptr<GangState>> gangs;
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    gangs.push_back(gang->state());
  std::ranges::sort(gangs, {}, [](const auto& gang) { return gang->index; });
  return gangs;
}

LastCall last_call_of(const RankState& rank) {
  const SimGang* last_called = nullptr;
  std::uint64_t last_called_at = noted_at(rank);
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank()) {
    if (gang->last_called_at() <= last_called_at) continue;
    last_called = gang;
    last_called_at = gang->last_called_at();
  }
  if (last_called != nullptr) return last_called->last_call();
  return rank.noted_call != nullptr ? rank.noted_call->call : LastCall();
}

}  // namespace gang::sim
