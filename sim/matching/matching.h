// Matches the k-th calls of all members of a gang and completes them.
#pragma once

#include <memory>
#include <vector>

#include "gang/recycled.h"
#include "sim/engine/engine.h"
#include "sim/matching/message_matching.h"
#include "sim/matching/mismatches.h"
#include "sim/matching/operation_deadlines.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

class TraceRecorder;
struct Counts;

// All gangs of a run and the operations posted on them. Called under the engine's Guard.
//
// Cost: an operation costs each rank O(its bytes) plus a constant; small all_reduces touch no other
// rank's memory.
class Matching {
 public:
  explicit Matching(World& world);

  std::shared_ptr<GangState> make_gang(GangInfo info, std::uint64_t first_sequence = 0);

  // The last handle of `gang` and the last work on it have been destroyed.
  void gang_gone(GangState& gang);

  // The run is over: detaches surviving gangs and works from it.
  void release_gangs() noexcept;

  // Posts an operation; whether it has ended on return. Throws GangError if the gang is broken.
  bool post(PendingOperation& pending);

  // The same, inline. Defined in posting.h; for `is_plain`, see Engine::are_calls_plain.
  template <bool is_plain>
  [[gnu::always_inline]] inline bool post_inline(PendingOperation& pending);

  // Whether the operation has completed or failed.
  static bool has_ended(const PendingOperation& pending) noexcept {
    return (pending.slot != nullptr && pending.slot->is_complete) || pending.has_ended();
  }

  // Takes the result that an ended operation left for its rank; throws its GangError if it failed.
  // `is_plain`: nobody looks at the rest of `pending` afterwards.
  template <bool is_plain = false>
  const Received& take(PendingOperation& pending) {
    if (pending.slot != nullptr)
      take_from_slot<is_plain>(pending);
    else if (pending.status == PendingStatus::failed) [[unlikely]]
      throw_failure(pending);
    return pending.received;
  }

  // Ends every pending and later operation on `gang` with `cause`. Only the first cause counts.
  void break_gang(GangState& gang, std::shared_ptr<const BreakCause> cause,
                  Breaks when = Breaks::between_calls);

  // Ends an operation that is no longer in any list, and lets its rank's stream continue.
  [[gnu::always_inline]] void end(PendingOperation& pending, PendingStatus status) {
    if (are_ends_watched_ || pending.form >= CallForm::tested || pending.batch != nullptr)
        [[unlikely]]
      return end_and_tell(pending, status);
    pending.status = status;
    if (pending.waiter != nullptr) engine_.wake(*pending.waiter);
  }

  // Throws the GangError of a failed operation, in its rank.
  [[noreturn]] void throw_failure(const PendingOperation& pending);

  // Breaks the gang of two matched messages that differ, or of a whole slot, with a finding.
  void fail_mismatch(GangState& gang, std::span<PendingOperation* const> members);

  // Gangs with members waiting in shrink, from the first call to their agreement.
  std::vector<GangState*>& shrinking() noexcept { return shrinking_; }

  // The rank will make no more calls: ranks that shrink a gang do not wait for it.
  void rank_gone(int root_rank);

  // Numbers the calls of all ranks, starting at 1.
  std::uint64_t next_call() noexcept { return ++calls_; }

  // A fault that kept operations from completing may have ended.
  void release_held();

  // Gangs in use, in no particular order, and by index.
  const RecycledList<GangState*>& all_gangs() const noexcept { return gangs_; }
  RecycledList<GangState*> gangs() const;

  MessageMatching& messages() noexcept { return messages_; }
  OperationDeadlines& deadlines() noexcept { return deadlines_; }
  Mismatches& mismatches() noexcept { return mismatches_; }

 private:
  // Whether it has ended.
  template <bool is_plain>
  [[gnu::always_inline]] inline bool arrive(PendingOperation& pending);
  void complete(GangState& gang, MatchSlot& slot);
  bool is_held(GangState& gang, const MatchSlot& slot);
  void fail_members_not_notified(GangState& gang, const MatchSlot& slot);
  void compute(GangState& gang, MatchSlot& slot);
  // Wakes the members, all of which block; each takes what the slot has for it.
  void leave_results_in(MatchSlot& slot);
  template <bool is_plain>
  void take_from_slot(PendingOperation& pending) {
    MatchSlot& slot = *pending.slot;
    if (!is_plain) {
      pending.slot = nullptr;
      pending.status = PendingStatus::complete;
    }
    if (slot.result_bytes != 0) {
      slot.copy_result(pending.operation->output.data());
    } else if (!slot.children.empty()) [[unlikely]] {
      take_child(pending, slot);
    }
    if (--slot.departures_left == 0) pending.gang->recycle(slot);
  }
  void take_child(PendingOperation& pending, MatchSlot& slot);
  // The same as `end`, where others than the waiter are concerned.
  void end_and_tell(PendingOperation& pending, PendingStatus status);
  void next_of_stream(RankState& rank, PendingOperation& ended);

  World& world_;
  Engine& engine_;
  TraceRecorder& recorder_;
  Counts& counts_;
  Guide* const guide_;       // null where nobody asks what contexts do
  const Duration patience_;  // of the ranks' watchdogs; Duration::max(): there are none
  const bool is_stream_ordered_;
  const bool are_ends_watched_;  // a Guide, a recorder or the rank's stream learns of each
  const MatchWords rules_;
  MessageMatching messages_;
  OperationDeadlines deadlines_;
  Mismatches mismatches_;
  SlotPools slots_;
  RecycledList<GangState*> gangs_;
  std::vector<GangState*> shrinking_;
  std::vector<PendingOperation*> released_;  // stream_ordered: launched and next in their stream
  bool is_releasing_ = false;
  std::uint64_t calls_ = 0;
  std::uint32_t next_index_ = 0;
};

}  // namespace gang::sim
