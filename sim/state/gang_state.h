// What the members of one simulated gang share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "gang/error.h"
#include "gang/gang.h"
#include "gang/recycled.h"
#include "sim/state/departures.h"
#include "sim/state/gang_handles.h"
#include "sim/state/link_queue.h"
#include "sim/state/making_places.h"
#include "sim/state/match_slot.h"
#include "sim/state/pending_operation.h"
#include "sim/state/rank_state.h"
#include "sim/state/taken_tally.h"

namespace gang::sim {

struct Finding;
struct GangState;
struct World;

// Why a gang is broken; reported to every later call on it.
struct BreakCause {
  static constexpr std::size_t no_finding = ~std::size_t{0};

  GangErrorKind kind = GangErrorKind::aborted;
  std::vector<int> ranks_at_fault;  // of the gang
  std::string reason;               // the clause after the colon
  int aborted_by = no_rank;         // root rank that called abort, if any
  LastCall aborted_after;           // the last call of that rank
  // The finding to add once it has ended a program; null if there is none or it was already added.
  std::shared_ptr<const Finding> finding_if_fatal;
  // Index of the finding that caused it. An abort becomes a finding only once it has ended a
  // program.
  mutable std::size_t finding = no_finding;
};

// A buffered message in transit.
struct Message {
  int source = 0;
  int tag = 0;
  DataType data_type = DataType::f32;
  std::int64_t count = 0;
  std::vector<std::byte> payload;
  Collective sent;             // for reports; its label is not kept
  std::uint64_t step_key = 0;  // of the operation that sent it, for a Guide
};

// Who sent the last message that a receive from any source took, for one tag that it asked for:
// the only one who could have, so far.
struct SoleSender {
  int wanted_tag = 0;  // any_tag: any
  int source = 0;
  std::uint64_t calls = 0;  // collectives of the gang that the receiver had called then
  TimePoint taken_at{0};
};

// A send that a fault keeps from being matched.
struct HeldSend {
  PendingOperation* send = nullptr;
  TimePoint until{0};
};

// Of a link whose sends are buffered.
struct LinkBytes {
  std::uint64_t in_transit = 0;
  std::uint64_t sent = 0;  // in all so far
};

// Where sends are buffered: what has been sent to one member.
struct BufferedMessages {
  LinkQueue<Message> queue;                  // matched before waiting sends of their link
  std::unordered_map<int, LinkBytes> links;  // by source
};

using WaitingSends = LinkQueue<PendingOperation*>;

// Messages sent to, and receives posted by, one member.
struct Mailbox {
  WaitingSends sends;                          // rendezvous sends to this member
  LinkQueue<PendingOperation*> receives;       // receives of this member, by their peer
  std::unique_ptr<BufferedMessages> buffered;  // null until the first
  std::vector<HeldSend> held;                  // by faults, oldest first
  // Of receives from any source: what they have taken, and who could have sent it.
  TakenTally taken;
  boost::container::small_vector<SoleSender, 1> sole_senders;

  const LinkQueue<Message>& buffered_messages() const noexcept {
    static const LinkQueue<Message> none;
    return buffered != nullptr ? buffered->queue : none;
  }
};

// Where the break of a gang comes among the calls of its members.
enum class Breaks : std::uint8_t {
  between_calls,    // before or after any of them: another schedule may change that
  after_all_calls,  // all have arrived, or have ended, and know of it
};

// Where the remaining members of a gang meet to agree on a new gang.
struct ShrinkMeeting {
  std::vector<Task*> present;  // by member; null: absent, or gone again
  std::set<int> awaited;       // root ranks that are absent and not known to be gone
  ShrinkOptions options;       // of the first member to arrive
  TimePoint deadline{0};
  std::shared_ptr<GangState> shrunk;  // the agreed gang; null: still waiting
  std::vector<int> members;           // of the shrunk gang, as members of this one
};

// An operation that has completed, called in two places.
struct CallParting {
  OperationKind kind = OperationKind::barrier;
  std::uint64_t sequence_number = 0;
  CallSite place;  // of member 0
  CallSite other_place;
  std::vector<bool> is_elsewhere;  // by member: at other_place
};

// Where members called operations that have completed.
struct CallPlaces {
  std::uint64_t sequence_number = 0;  // of the last one with different places
  std::vector<CallSite> by_member;
  // The first of the calls, up to that one, that were all made so; it has no root, since a root
  // may well call elsewhere.
  Collective first;                       // as member 0 called it; its label is not kept
  std::vector<CallSite> first_by_member;  // empty: there is none
  std::vector<CallParting> partings;      // the last few that nothing has crossed so far
};

// How a gang descends from another.
struct Descent {
  static constexpr std::uint32_t no_parent = ~std::uint32_t{0};

  std::uint32_t parent = no_parent;  // index of the gang that it was made from
  std::uint32_t children_made = 0;   // by it; for default names
};

struct GangState {
  explicit GangState(World& of) : world(&of) {}
  GangState(const GangState&) = delete;
  GangState& operator=(const GangState&) = delete;
  ~GangState();

  World* world;  // null once the run is over
  // The TerminationTarget whose threads may call; none has this one for its target.
  const void* carrier = this;
  GangHandles handles;
  std::shared_ptr<const GangInfo> info;
  std::uint32_t index = 0;  // in order of creation
  Descent descent;
  std::size_t registry_index = 0;    // where Matching lists it
  std::uint64_t first_sequence = 0;  // of its first collective
  std::uint64_t base_sequence = 0;   // of active.front()
  Collective last_call;  // of base_sequence - 1 as member 0 called it; its label is not kept
  // Call sites of the last collective that members called in different places; null if there was
  // none.
  std::unique_ptr<CallPlaces> places;
  RecycledList<MatchSlot*> active;  // slots that gather members, by sequence number
  SlotPool* slots = nullptr;        // of its size; the run's
  RecycledList<Mailbox> mailboxes;  // by member, once point-to-point is used
  std::shared_ptr<const BreakCause> broken;
  std::unique_ptr<Departures> departures;  // null until the first
  MakingPlaces making_places;
  std::unique_ptr<ShrinkMeeting> shrinking;  // once a member has called shrink

  // gang_label_of(*info), computed once in O(members), and its text.
  const GangLabel& gang_label() const {
    if (label_ == nullptr) label_ = std::make_unique<const GangLabel>(gang_label_of(*info));
    return *label_;
  }
  std::string label() const { return to_string(gang_label()); }

  // What a Guide knows it by: its name and its members.
  std::uint64_t key() const noexcept {
    if (key_ == 0) key_ = key_of(*info);
    return key_;
  }

  // Where the members' calls with this sequence number, of base_sequence or later, meet.
  MatchSlot& slot_for(std::uint64_t sequence) {
    const std::size_t place = sequence - base_sequence;
    const auto at = active.begin() + static_cast<std::ptrdiff_t>(place);
    return at < active.end() ? **at : add_slots(place);
  }

  // Null: the member still holds its handle, or has called nothing. Valid until the next departure.
  const Departure* departure_of(int member) const noexcept {
    return departures == nullptr ? nullptr : departures->of(member);
  }
  void note_departure(int member, const Departure& departure) {
    if (departures == nullptr) departures = std::make_unique<Departures>(size());
    departures->note(member, departure);
  }

  // The run is over.
  void leave_run() noexcept {
    world = nullptr;
    carrier = this;
  }

  // Nobody needs the slot any more, which is no longer active.
  void recycle(MatchSlot& slot) { slots->give_back(slot); }

  int size() const noexcept { return info->size; }
  int root_rank_of(int member) const noexcept {
    return info->root_ranks[static_cast<std::size_t>(member)];
  }

 private:
  MatchSlot& add_slots(std::size_t place);
  static std::uint64_t key_of(const GangInfo& info) noexcept;

  mutable std::unique_ptr<const GangLabel> label_;  // null until the first asks for it
  mutable std::uint64_t key_ = 0;
};

// "rank 3", "ranks 0-3,8": members of `gang` as root ranks.
std::string members_text(const GangState& gang, const std::vector<int>& members);

// Members that have not arrived at the operation.
std::vector<int> missing_members(const MatchSlot& slot);

// The operation that a call belongs to: its own or, while it is queued on its rank's stream, the
// oldest one at which other members have arrived; null if there is none.
const MatchSlot* slot_of(const GangState& gang, const PendingOperation& pending) noexcept;

}  // namespace gang::sim
