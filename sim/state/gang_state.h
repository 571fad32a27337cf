// What the members of one simulated gang share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "gang/error.h"
#include "gang/gang.h"
#include "gang/recycled.h"
#include "sim/state/fingerprint.h"
#include "sim/state/link_queue.h"
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

// A child made by create_gang or split, as one member sees it.
struct ChildSeat {
  std::shared_ptr<GangState> gang;  // null: the member is in no child
  int rank = 0;
};

// A value small enough to be stored in the slot instead of in the member's memory; aligned for any
// element.
inline constexpr std::size_t inline_bytes = 16;
struct alignas(std::uint64_t) InlineValue : std::array<std::byte, inline_bytes> {};

// Copies bytes that are mostly one number, for which a call of memmove takes longer than the copy.
inline void copy_few(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == sizeof(std::uint32_t)) [[likely]]
    std::memmove(to, from, sizeof(std::uint32_t));
  else if (bytes == sizeof(std::uint64_t))
    std::memmove(to, from, sizeof(std::uint64_t));
  else
    std::memmove(to, from, bytes);
}

// What a slot needs of a member to complete a small operation without touching the memory of
// others.
struct Seat {
  Task* waiter = nullptr;
  InlineValue value;  // what it brings, inline operations only
};

// The k-th operation of a gang while its members arrive. Recycled.
struct MatchSlot {
  explicit MatchSlot(std::uint32_t of) : size(of), members(of, nullptr), seats(of) {}

  bool is_full() const noexcept { return arrived == size; }

  std::uint64_t sequence_number = 0;
  Fingerprint first;
  const std::uint32_t size;  // of the gang
  std::uint32_t arrived = 0;
  std::uint32_t departures_left = 0;  // members yet to take what the slot has for them
  std::uint32_t async_members = 0;
  bool is_mismatched = false;
  bool is_complete = false;
  std::uint8_t result_bytes = 0;  // in `result`, which members take when they resume
  bool has_other_places = false;  // some member called it at another site than the first
  std::uint8_t value_bytes = 0;   // that each seat keeps; set by the first member
  CallSite first_site;            // of the first member
  InlineValue result{};
  MatchSlot* next_free = nullptr;           // while it is free
  RecycledList<PendingOperation*> members;  // by rank in the gang; null: not arrived
  RecycledList<Seat> seats;                 // the same; written when its member arrives
  std::vector<ChildSeat> children;          // create_gang and split only
};

// A member that has dropped its handle, and the last collective that it called.
struct Departure {
  int member = 0;
  std::uint64_t calls = 0;  // collectives, > 0
  CallSite call_site;       // of the last one
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

struct GangState {
  explicit GangState(World& of) : world(&of) {}
  GangState(const GangState&) = delete;
  GangState& operator=(const GangState&) = delete;
  ~GangState();

  World* world;  // null once the run is over
  std::shared_ptr<const GangInfo> info;
  std::uint32_t index = 0;           // in order of creation
  std::size_t registry_index = 0;    // where Matching lists it
  std::uint32_t children_made = 0;   // for default names
  std::uint64_t first_sequence = 0;  // of its first collective
  std::uint64_t base_sequence = 0;   // of active.front()
  Collective last_call;  // of base_sequence - 1 as member 0 called it; its label is not kept
  // Call sites of the last collective that members called in different places; null if there was
  // none.
  std::unique_ptr<CallPlaces> places;
  RecycledList<MatchSlot*> active;  // slots that gather members, by sequence number
  std::forward_list<MatchSlot, RecyclingAllocator<MatchSlot>> slots;  // all of them
  MatchSlot* free_slot = nullptr;   // the first that is free; null: none
  RecycledList<Mailbox> mailboxes;  // by member, once point-to-point is used
  std::shared_ptr<const BreakCause> broken;
  RecycledList<Departure> departures;        // in their order
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

  void note_departure(const Departure& departure) {
    if (departures.empty()) departures.reserve(static_cast<std::size_t>(size()));
    departures.push_back(departure);
  }

  // Nobody needs the slot any more, which is no longer active.
  void recycle(MatchSlot& slot);

  int size() const noexcept { return info->size; }
  int root_rank_of(int member) const noexcept {
    return info->root_ranks[static_cast<std::size_t>(member)];
  }

 private:
  MatchSlot& add_slots(std::size_t place);
  [[gnu::noinline]] MatchSlot& new_slot();
  [[gnu::noinline]] static void drop_children(MatchSlot& slot);
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
