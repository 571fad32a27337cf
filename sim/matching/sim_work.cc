#include "sim/matching/sim_work.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include <fmt/format.h>

#include "sim/matching/diagnosis.h"
#include "sim/matching/interference.h"
#include "sim/matching/matching.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/sim_gang.h"
#include "sim/matching/streams.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// An exception unwound past a work: its gang cannot continue.
void break_by_unwinding(World& world, GangState& gang, const PendingOperation& pending) {
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {pending.member};
  cause->reason =
      fmt::format("an exception left {} of {}", to_string(describe(pending.call(), *gang.info)),
                  members_text(gang, {pending.member}));
  if (!gang.broken) pending.task->rank->make_rare().broken_by_unwinding.push_back(cause);
  world.matching.break_gang(gang, cause);
}

}  // namespace

SimWork::~SimWork() {
  World* const world = gang_.world;
  if (world == nullptr) {
    gang_.handles.drop();
    return;
  }
  const Engine::Guard guard(world->engine);
  if (poller_ != nullptr && poller_->rare().polled == &pending_)
    poller_->make_rare().polled = nullptr;
  delist();
  gang_.handles.drop_in_run();
}

void SimWork::delist() noexcept {
  if (!is_enlisted_) return;
  (previous_ != nullptr ? previous_->next_ : pending_.task->rank->works) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

World& SimWork::world() const {
  if (gang_.world == nullptr) [[unlikely]]
    throw_ended("a work");
  if (!gang_.world->engine.ends().is_on_this_thread()) [[unlikely]]
    throw_foreign_thread("a work");
  return *gang_.world;
}

void SimWork::return_buffers(World& world) {
  if (!guard_) return;
  const bool succeeded = pending_.status == PendingStatus::complete || pending_.slot != nullptr;
  if (succeeded) guard_->check(world);
  pending_.guard = nullptr;
  guard_.reset();
}

template <bool is_plain>
void SimWork::observe(World& world) {
  if (is_taken_) return;
  is_observed_ = true;
  world.engine.current<is_plain>().end_polls();
  if (!is_plain)
    if (Guide* guide = world.engine.choices().guide()) [[unlikely]]
      note_taken(*guide, pending_);
  pending_.waiter = nullptr;
  return_buffers(world);
  world.matching.take(pending_);  // throws on every call once it has failed
  is_taken_ = true;
  if (is_plain) return;
  if (pending_.faults().corrupted_by >= 0) world.interference->corrupt_result(pending_);
  note_waited_by_order(world, next_);
}

void SimWork::note_waited_by_order(World& world, SimWork* youngest) {
  if (world.options.execution != ExecutionModel::stream_ordered) return;
  for (SimWork* work = youngest; work != nullptr && !work->is_waited_by_order_;
       work = work->next_) {
    work->is_waited_by_order_ = true;
    work->return_buffers(world);
  }
}

bool SimWork::wait(Duration timeout) {
  if (is_taken_) return true;
  World& world = this->world();
  if (timeout != no_timeout || !world.engine.are_calls_plain()) return wait_watched(world, timeout);
  if (!Matching::has_ended(pending_)) {
    Task& self = world.engine.current<true>();
    const Wait wait{Wait::Reason::operation, &pending_};
    pending_.waiter = &self;
    do world.engine.block<true>(self, wait);
    while (!Matching::has_ended(pending_));
  }
  observe<true>(world);
  return true;
}

bool SimWork::wait_watched(World& world, Duration timeout) {
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  const TimePoint deadline = deadline_after(world.engine.now(), timeout);
  const bool has_ended = wait_until(world, deadline);
  // What is in time is so in every schedule, unless it is a tie or time is real.
  const bool is_real_time = world.options.context == ContextKind::parallel;
  if (timeout != no_timeout && (!has_ended || is_real_time || world.engine.now() >= deadline)) {
    world.engine.choices().note_guided_choice();
    note_look_at_streams(world);
    if (Guide* guide = world.engine.choices().guide()) note_look(*guide, pending_);
  }
  if (has_ended) observe<false>(world);
  return has_ended;
}

bool SimWork::wait_until(World& world, TimePoint deadline) {
  Task& self = world.engine.current();
  const Wait wait{Wait::Reason::operation, &pending_};
  pending_.waiter = &self;
  while (!Matching::has_ended(pending_)) {
    if (world.engine.now() >= deadline) {
      pending_.waiter = nullptr;
      return false;
    }
    if (deadline != TimePoint::max()) world.engine.clock().wake_at(deadline, self);
    world.engine.block(self, wait);
  }
  return true;
}

bool SimWork::test() {
  if (is_taken_) return true;
  World& world = this->world();
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  note_look_at_streams(world);
  if (Guide* guide = world.engine.choices().guide()) note_look(*guide, pending_);
  if (Matching::has_ended(pending_)) {
    if (gang_.size() > 1) world.engine.choices().note_guided_choice();
    observe<false>(world);
    return true;
  }
  Choices& choices = world.engine.choices();
  Task& self = world.engine.current();
  const bool is_first = pending_.form < CallForm::tested;
  // One that comes after a look at the clock may take time.
  if (!self.rare().has_asked_time && choices.returns_at_once(is_first, self.rare().polls)) {
    note_found_pending();
    if (pending_.form == CallForm::tested) choices.note_early_look();
    pending_.form = CallForm::looked_at;
    if (!is_first) ++self.make_rare().polls;
    return false;
  }
  // This one waits for the others: that it comes before them all is not explored.
  if (choices.looks_at_once() && !self.rare().has_asked_time)
    choices.note_choice_point(Unguided::many_polls);
  world.engine.poll(&pending_);
  if (Guide* guide = choices.guide()) note_look(*guide, pending_);
  if (Matching::has_ended(pending_)) {
    choices.note_guided_choice();
    observe<false>(world);
    return true;
  }
  note_found_pending();
  ++self.make_rare().polls;
  self.make_rare().polled = &pending_;
  poller_ = &self;
  return false;
}

// The program may see that it has not ended yet, which is a choice if it ends at all.
void SimWork::note_found_pending() {
  if (pending_.form < CallForm::tested) pending_.form = CallForm::tested;
  // Whether it ends then depends on all operations ahead of it.
  if (world().options.execution == ExecutionModel::stream_ordered)
    world().engine.choices().note_choice_point(Unguided::stream_order);
  world().engine.choices().note_open_choice();
}

std::size_t SimWork::wait_any(std::span<WorkState* const> works) {
  World& world = this->world();
  const Engine::Guard guard(world.engine);
  world.engine.scheduling_point();
  Task& self = world.engine.current();
  std::vector<PendingOperation*> waited_for;
  for (WorkState* work : works) waited_for.push_back(&static_cast<SimWork*>(work)->pending_);
  const auto first_ended = [&waited_for] {
    std::size_t index = 0;
    while (index < waited_for.size() && !Matching::has_ended(*waited_for[index])) ++index;
    return index;
  };
  const Wait wait{Wait::Reason::any_operation, std::span<PendingOperation* const>(waited_for)};
  while (first_ended() == waited_for.size()) {
    for (PendingOperation* pending : waited_for) pending->waiter = &self;
    world.engine.block(self, wait);
  }
  for (PendingOperation* pending : waited_for) pending->waiter = nullptr;
  note_look_at_streams(world);
  if (Guide* guide = world.engine.choices().guide())
    for (const PendingOperation* pending : waited_for) note_look(*guide, *pending);
  const std::size_t index = first_ended();
  for (std::size_t i = index + 1; i < works.size(); ++i) {
    if (Matching::has_ended(*waited_for[i])) world.engine.choices().note_guided_choice();
    static_cast<SimWork*>(works[i])->note_found_pending();
  }
  for (std::size_t i = 0; i < index; ++i) static_cast<SimWork*>(works[i])->note_found_pending();
  SimWork& ended = *static_cast<SimWork*>(works[index]);
  ended.is_observed_ = true;
  ended.return_buffers(world);
  return index;
}

bool SimWork::sees_end(World& world) {
  if (gang_.size() > 1) world.engine.choices().note_guided_choice();
  note_look_at_streams(world);
  if (Guide* guide = world.engine.choices().guide()) note_look(*guide, pending_);
  return Matching::has_ended(pending_);
}

void SimWork::dropped() noexcept {
  if (gang_.world == nullptr) return;
  World& world = *gang_.world;
  const Engine::Guard guard(world.engine);
  if (world.engine.is_over()) return;
  if (std::uncaught_exceptions() > 0) {
    if (!sees_end(world)) break_by_unwinding(world, gang_, pending_);
    return;
  }
  // A failed operation is over, and its failure has been reported.
  if (pending_.status == PendingStatus::failed || is_waited_by_order_) return;
  world.diagnosis.dropped(pending_);
  Task& self = world.engine.current();
  const Wait wait{Wait::Reason::operation, &pending_};
  while (!Matching::has_ended(pending_) && !world.engine.is_over()) {
    pending_.waiter = &self;
    world.engine.block_quietly(self, wait);
  }
}

void SimWork::detached(std::shared_ptr<WorkState> self) noexcept {
  std::vector<std::shared_ptr<WorkState>> ended;  // destroyed without the guard
  if (gang_.world == nullptr) return;
  World& world = *gang_.world;
  const Engine::Guard guard(world.engine);
  if (world.engine.is_over()) return;
  release_buffers();
  pending_.guard = nullptr;
  guard_.reset();
  is_detached_ = true;
  auto& kept = pending_.task->rank->make_rare().detached;
  const auto first = std::ranges::stable_partition(kept, [](const auto& work) {
    return !Matching::has_ended(static_cast<const SimWork&>(*work).pending_);
  });
  std::ranges::move(first, std::back_inserter(ended));
  kept.erase(first.begin(), first.end());
  kept.push_back(std::move(self));
}

void SimWork::outlived() noexcept {
  if (guard_) guard_->open();
  if (is_observed_ || is_waited_by_order_ || pending_.status == PendingStatus::failed) return;
  const std::size_t finding =
      is_detached_ ? BreakCause::no_finding : gang_.world->diagnosis.dropped(pending_);
  if (sees_end(*gang_.world)) return;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {pending_.member};
  cause->reason =
      fmt::format("{} ended without waiting for {}", members_text(gang_, {pending_.member}),
                  to_string(describe(pending_.call(), *gang_.info)));
  cause->finding = finding;
  gang_.world->matching.break_gang(gang_, std::move(cause));
}

void report_outliving_works(RankState& rank) noexcept {
  std::vector<SimWork*> works;
  for (SimWork* work = rank.works; work != nullptr; work = work->next_of_rank())
    works.push_back(work);
  for (auto work = works.rbegin(); work != works.rend(); ++work) (*work)->outlived();
}

}  // namespace gang::sim
