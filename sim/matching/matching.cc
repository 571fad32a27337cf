#include "sim/matching/matching.h"

#include <algorithm>

#include "gang/recycled.h"
#include "sim/contexts/invariant.h"
#include "sim/matching/buffer_guard.h"
#include "sim/matching/call_partings.h"
#include "sim/matching/collective_result.h"
#include "sim/matching/diagnosis.h"
#include "sim/matching/group_creation.h"
#include "sim/matching/interference.h"
#include "sim/matching/noted_steps.h"
#include "sim/matching/posting.h"
#include "sim/matching/shrinking.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/report.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

DeathsInside deaths_inside(const World& world) {
  return world.interference == nullptr ? DeathsInside::none : world.interference->deaths_inside();
}

// Whether others than the waiters learn of each member's end.
bool is_each_end_told(const World& world) {
  return deaths_inside(world) == DeathsInside::happened || world.recorder.is_recording() ||
         world.options.execution == ExecutionModel::stream_ordered;
}

// Reports what programs have done to buffers in flight; of memory that two operations share, on all
// ranks where they do.
void check_buffers(World& world, const MatchSlot& slot) {
  bool is_shared = false;
  for (PendingOperation* member : slot.members)
    if (member->guard != nullptr && member->guard->check(world)) is_shared = true;
  if (!is_shared) return;
  for (PendingOperation* member : slot.members)
    if (member->guard != nullptr) member->guard->check_shared(world);
}

// The error of an operation that has failed, which reaches its rank now.
GangError failure_of(World& world, const PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  world.diagnosis.failure_reaches(pending);
  pending.task->rank->make_rare().last_failure = gang.broken;
  GangFailure failure;
  failure.kind = gang.broken->kind;
  failure.gang = gang.label();
  failure.rank = pending.member;
  failure.operation = pending.call();
  failure.operation.label = {};
  failure.elapsed = world.engine.now() - pending.posted_at;
  failure.ranks_at_fault = gang.broken->ranks_at_fault;
  failure.reason = gang.broken->reason;
  return GangError(std::move(failure), *gang.info);
}

}  // namespace

Matching::Matching(World& world)
    : world_(world),
      engine_(world.engine),
      recorder_(world.recorder),
      counts_(world.counts),
      guide_(world.engine.choices().guide()),
      patience_(world.options.watchdog.value_or(Duration::max())),
      is_stream_ordered_(world.options.execution == ExecutionModel::stream_ordered),
      are_ends_watched_(guide_ != nullptr || recorder_.is_recording() || is_stream_ordered_),
      rules_(MatchRules{world.options.strict_blocking, world.options.strict_labels}),
      messages_(world, *this),
      deadlines_(world, *this),
      mismatches_(world, *this) {}

std::shared_ptr<GangState> Matching::make_gang(GangInfo info, std::uint64_t first_sequence) {
  auto gang = std::allocate_shared<GangState>(RecyclingAllocator<GangState>(), world_);
  gang->info =
      std::allocate_shared<const GangInfo>(RecyclingAllocator<GangInfo>(), std::move(info));
  gang->carrier = static_cast<const TerminationTarget*>(&engine_.ends());
  gang->slots = &slots_.of_size(gang->size());
  gang->first_sequence = gang->base_sequence = first_sequence;
  gang->index = next_index_++;
  gang->registry_index = gangs_.size();
  gangs_.push_back(gang.get());
  ++counts_.gangs;
  recorder_.gang_made(*gang);
  return gang;
}

void Matching::gang_gone(GangState& gang) {
  if (gang.shrinking) std::erase(shrinking_, &gang);
  if (!engine_.is_over()) world_.diagnosis.unreceived(gang);
  GangState* last = gangs_.back();
  gangs_[gang.registry_index] = last;
  last->registry_index = gang.registry_index;
  gangs_.pop_back();
}

void Matching::release_gangs() noexcept {
  for (GangState* gang : gangs_) gang->leave_run();
  gangs_.clear();
}

GangState::~GangState() {
  if (world != nullptr) world->matching.gang_gone(*this);
}

RecycledList<GangState*> Matching::gangs() const {
  RecycledList<GangState*> sorted = gangs_;
  std::sort(sorted.begin(), sorted.end(),
            [](const GangState* a, const GangState* b) { return a->index < b->index; });
  return sorted;
}

bool Matching::post(PendingOperation& pending) { return post_inline<false>(pending); }

bool Matching::is_held(GangState& gang, const MatchSlot& slot) {
  if (world_.interference == nullptr) return false;
  return gang.active.front() != &slot || world_.interference->links().holds(gang);
}

void Matching::release_held() {
  for (GangState* gang : gangs()) {
    const auto is_full = [gang] {
      return !gang->broken && !gang->active.empty() && !gang->active.front()->is_mismatched &&
             gang->active.front()->is_full();
    };
    while (is_full() && !world_.interference->links().holds(*gang))
      complete(*gang, *gang->active.front());
    messages_.release_held(*gang);
  }
}

void Matching::complete(GangState& gang, MatchSlot& slot) {
  if (gang.active.front() != &slot) [[unlikely]] {
    GANGSIM_INVARIANT(gang.active.front()->is_mismatched,
                      "operations of a gang completed out of order");
    return;
  }
  const bool is_pairwise = slot.members.front()->call().kind == OperationKind::all_to_all;
  if (slot.is_mismatched || (is_pairwise && has_pairwise_mismatch(slot))) [[unlikely]] {
    slot.is_mismatched = true;
    mismatches_.add(gang);
    return;
  }
  if (slot.async_members != 0 && mismatches_.fail_without_memory(gang, slot.members)) [[unlikely]]
    return;
  gang.active.erase(gang.active.begin());
  ++gang.base_sequence;
  gang.last_call = slot.members.front()->call();
  gang.last_call.label = {};
  if (slot.has_other_places) [[unlikely]]
    note_parting(world_, gang, slot);
  ++counts_.completed_operations;
  recorder_.ended(TraceEventKind::complete, gang, slot.sequence_number, engine_.now());
  if (slot.async_members != 0) check_buffers(world_, slot);
  const Operation& operation = *slot.members.front()->operation;
  const std::size_t bytes = operation.input.size_bytes();
  const bool is_small = is_inline_kind(operation.collective.kind, bytes);
  const bool may_leave_in_slot =
      engine_.are_calls_plain() || (is_small && !is_each_end_told(world_));
  // Under faults, what started operations bring may be read late.
  const bool is_in_slot =
      is_small && (slot.async_members == 0 ? may_leave_in_slot : world_.interference == nullptr);
  if (!is_in_slot)
    compute(gang, slot);
  else if (bytes != 0)
    compute_in_slot(slot);
  if (slot.async_members == 0 && may_leave_in_slot) return leave_results_in(slot);
  if (const DeathsInside deaths = deaths_inside(world_); deaths != DeathsInside::none) {
    // A rank that has started it may have died since, or not: that is not tried both ways.
    if (slot.async_members != 0) engine_.choices().note_choice_point(Unguided::fault);
    if (deaths == DeathsInside::happened && slot.children.empty())
      fail_members_not_notified(gang, slot);
  }
  // The seats of new gangs stay in the slot until each member takes its own.
  const bool has_children = !slot.children.empty();
  slot.departures_left = has_children ? slot.size : 0;
  for (PendingOperation* member : slot.members) {
    PendingOperation& ended = *member;
    if (ended.has_ended()) continue;
    if (!has_children) ended.slot = nullptr;
    slot.copy_result(ended.operation->output.data());
    if (ended.guard != nullptr) ended.guard->seal();
    end(ended, PendingStatus::complete);
  }
  slot.is_complete = true;
  if (!has_children) gang.recycle(slot);
}

// A rank has died in the operation: some members may learn only of the death, not that the
// operation has completed.
void Matching::fail_members_not_notified(GangState& gang, const MatchSlot& slot) {
  const std::vector<PendingOperation*> untold = world_.interference->untold(slot.members);
  if (untold.empty()) return;
  world_.interference->break_for_dead(gang, slot.members);
  for (PendingOperation* member : untold) {
    member->slot = nullptr;
    end(*member, PendingStatus::failed);
  }
}

void Matching::compute(GangState& gang, MatchSlot& slot) {
  const OperationKind kind = slot.members.front()->call().kind;
  if (kind == OperationKind::create_gang || kind == OperationKind::split)
    make_children(*this, gang, slot);
  else
    compute_result(slot.members, world_.reduction_pool);
}

void Matching::leave_results_in(MatchSlot& slot) {
  slot.is_complete = true;
  slot.departures_left = slot.size;
  const auto wake_members = [&]<bool is_plain>(std::bool_constant<is_plain>) {
    Engine& engine = engine_;
    for (const Seat& seat : std::span(slot.seats.data(), slot.size))
      engine.wake_after_progress<is_plain>(*seat.waiter);  // each has one: all block
  };
  engine_.note_progress();
  engine_.are_calls_plain() ? wake_members(std::true_type()) : wake_members(std::false_type());
}

void Matching::take_child(PendingOperation& pending, MatchSlot& slot) {
  take_seat(world_, pending, std::move(slot.children[static_cast<std::size_t>(pending.member)]));
}

void Matching::end_and_tell(PendingOperation& pending, PendingStatus status) {
  pending.status = status;
  if (pending.form >= CallForm::tested) [[unlikely]] {
    engine_.choices().note_guided_choice();
    if (pending.form == CallForm::looked_at) engine_.choices().note_end_of_early_look();
  }
  if (guide_ != nullptr) [[unlikely]]
    note_ended(*guide_, pending);
  const bool failed = status == PendingStatus::failed;
  if (pending.batch != nullptr) {
    PendingOperation& batch = *pending.batch;
    if (!batch.has_ended() && (failed || --batch.entries()->left == 0)) end(batch, status);
    return;
  }
  if (recorder_.is_recording()) [[unlikely]]
    recorder_.ended_for(failed ? TraceEventKind::fail : TraceEventKind::complete, pending,
                        engine_.now());
  if (pending.waiter != nullptr) engine_.wake(*pending.waiter);
  if (is_stream_ordered_ && pending.task->rank->rare().stream) [[unlikely]]
    next_of_stream(*pending.task->rank, pending);
}

void Matching::next_of_stream(RankState& rank, PendingOperation& ended) {
  auto& stream = *rank.rare().stream;
  const auto place = std::find(stream.begin(), stream.end(), &ended);
  if (place == stream.end()) return;
  const bool was_front = place == stream.begin();
  stream.erase(place);
  if (!was_front || stream.empty()) return;
  released_.push_back(stream.front());
  if (is_releasing_) return;  // a completion further up the stack continues the release
  is_releasing_ = true;
  while (!released_.empty()) {
    PendingOperation* next = released_.back();
    released_.pop_back();
    if (next->status != PendingStatus::launched) continue;
    if (next->gang->broken) {
      end(*next, PendingStatus::failed);
    } else {
      next->status = PendingStatus::posted;
      arrive<false>(*next);
    }
  }
  is_releasing_ = false;
}

void Matching::break_gang(GangState& gang, std::shared_ptr<const BreakCause> cause, Breaks when) {
  if (guide_ != nullptr && when == Breaks::between_calls) note_broken(*guide_, world_, gang);
  if (when == Breaks::between_calls) note_break_of_streams(world_);
  if (gang.broken) return;
  gang.broken = std::move(cause);
  engine_.note_progress();
  // Which operations are still under way depends on the schedule.
  engine_.choices().note_guided_choice();
  recorder_.ended(TraceEventKind::fail, gang, gang.base_sequence, engine_.now());
  const auto active = std::move(gang.active);
  gang.active.clear();
  gang.base_sequence += active.size();
  for (MatchSlot* slot : active) {
    const auto members = slot->members;
    for (PendingOperation* member : members)
      if (member != nullptr) member->slot = nullptr;
    gang.recycle(*slot);
    for (PendingOperation* member : members)
      if (member != nullptr) end(*member, PendingStatus::failed);
  }
  messages_.fail_all(gang);
  mismatches_.end_messages(gang);
  if (world_.options.execution != ExecutionModel::stream_ordered) return;
  for (const int rank : gang.info->root_ranks) {
    const auto& stream = world_.rank(rank).rare().stream;
    if (!stream) continue;
    const std::vector<PendingOperation*> launched(stream->begin(), stream->end());
    for (PendingOperation* pending : launched)
      if (pending->gang == &gang && pending->status == PendingStatus::launched)
        end(*pending, PendingStatus::failed);
  }
}

void Matching::fail_mismatch(GangState& gang, std::span<PendingOperation* const> members) {
  break_gang(gang, world_.diagnosis.mismatch(gang, members));
  for (PendingOperation* member : members) {
    if (member == nullptr || member->has_ended()) continue;
    member->slot = nullptr;
    end(*member, PendingStatus::failed);
  }
}

void Matching::rank_gone(int root_rank) {
  for (GangState* gang : std::vector(shrinking_)) leave_shrinking(world_, *gang, root_rank);
}

// Has nothing of its own that the exception would have to destroy on its way.
void Matching::throw_failure(const PendingOperation& pending) { throw failure_of(world_, pending); }

}  // namespace gang::sim
