// What the members of one simulated gang share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gang/error.h"
#include "gang/gang.h"
#include "sim/state/fingerprint.h"
#include "sim/state/pending_operation.h"
#include "sim/state/race_watch.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

struct Finding;
struct GangState;
struct World;

// Why a gang is broken: what every later call on it is told.
struct BreakCause {
  static constexpr std::size_t no_finding = ~std::size_t{0};

  GangErrorKind kind = GangErrorKind::aborted;
  std::vector<int> ranks_at_fault;  // of the gang
  std::string reason;               // the clause after the colon
  int aborted_by = no_rank;         // of the root gang, where somebody called abort
  LastCall aborted_after;           // of that rank
  // The finding to make once it has ended a program; null where there is none, or one already.
  std::shared_ptr<const Finding> finding_if_fatal;
  // Index of the finding that it is a consequence of. An abort is one only once it has ended a
  // program.
  mutable std::size_t finding = no_finding;
};

// A child made by create_gang or split, as one member sees it.
struct ChildSeat {
  std::shared_ptr<GangState> gang;  // null: not in any
  int rank = 0;
};

// A value small enough to be kept beside its member instead of in the member's memory.
inline constexpr std::size_t inline_bytes = 16;
struct alignas(inline_bytes) InlineValue : std::array<std::byte, inline_bytes> {};

// The k-th operation of a gang while it gathers its members. Recycled.
struct MatchSlot {
  explicit MatchSlot(std::size_t size) : members(size, nullptr), waiters(size, nullptr) {}

  std::uint64_t sequence_number = 0;
  Fingerprint first;
  std::uint32_t arrived = 0;
  std::uint32_t departures_left = 0;  // members that still have to take their inline result
  std::uint32_t async_members = 0;
  bool is_mismatched = false;
  bool is_inline = false;  // the result is in `result`; members take it when they go on
  bool is_complete = false;
  bool has_other_places = false;     // whether members called it in other places than the first
  const char* first_file = nullptr;  // of the first's call site
  std::uint32_t first_line = 0;
  InlineValue result{};
  std::vector<PendingOperation*> members;  // by rank in the gang; null: has not come
  std::vector<Task*> waiters;
  std::vector<InlineValue> values;  // inline operations only
  std::vector<ChildSeat> children;  // create_gang and split only
};

// A member that has let go of its handle, and the last collective that it called.
struct Departure {
  int member = 0;
  std::uint64_t calls = 0;  // collectives, > 0
  CallSite call_site;       // of the last; without its function
};

// A buffered message on its way.
struct Message {
  int source = 0;
  int tag = 0;
  DataType data_type = DataType::f32;
  std::int64_t count = 0;
  std::vector<std::byte> payload;
  Collective sent;  // for reports; its label is not kept
};

// What receives from any source have taken of one source with one tag.
struct TakenFrom {
  int count = 0;
  Collective last;  // its send; its label is not kept
};

// A send that a fault keeps from being matched.
struct HeldSend {
  PendingOperation* send = nullptr;
  TimePoint until{0};
};

// What has been sent to, and asked for by, one member.
struct Mailbox {
  std::deque<Message> buffered;               // oldest first; matched before `sends` of their link
  std::deque<PendingOperation*> sends;        // rendezvous sends to this member, oldest first
  std::deque<PendingOperation*> receives;     // receives of this member, oldest first
  std::vector<std::uint64_t> buffered_bytes;  // by source
  std::vector<HeldSend> held;                 // by faults, oldest first
  // By tag and source; null until a receive from any source has taken a message.
  std::unique_ptr<std::map<std::pair<int, int>, TakenFrom>> taken_from;
  std::unique_ptr<TakenMessages> taken;  // by receives from any source, once there was one
};

// Where the members that are still there meet to agree on the gang they go on with.
struct ShrinkMeeting {
  std::vector<Task*> present;  // by member; null: has not come, or has gone since
  std::set<int> awaited;       // root ranks that have neither come nor are known to be gone
  ShrinkOptions options;       // of the first to come
  TimePoint deadline{0};
  std::shared_ptr<GangState> shrunk;  // what they have agreed on; null: they are still waiting
  std::vector<int> members;           // of the shrunk gang, as members of this one
};

// Where members called an operation that has completed.
struct CallPlaces {
  std::uint64_t sequence_number = 0;
  std::vector<CallSite> by_member;
};

struct GangState {
  explicit GangState(World& of) : world(&of) {}
  GangState(const GangState&) = delete;
  GangState& operator=(const GangState&) = delete;
  ~GangState();

  World* world;  // null once the run is over
  std::shared_ptr<const GangInfo> info;
  std::uint32_t index = 0;          // in order of creation
  std::size_t registry_index = 0;   // where Matching lists it
  std::uint32_t children_made = 0;  // for default names
  std::uint64_t base_sequence = 0;  // of active.front()
  Collective last_call;  // of base_sequence - 1 as member 0 called it; its label is not kept
  // Of the last collective that members called in different places; null: there was none.
  std::unique_ptr<CallPlaces> places;
  std::vector<MatchSlot*> active;                 // slots that gather members, by sequence number
  std::vector<std::unique_ptr<MatchSlot>> slots;  // all of them
  std::vector<MatchSlot*> free_slots;
  std::unique_ptr<std::vector<Mailbox>> mailboxes;  // by member, once point-to-point is used
  std::shared_ptr<const BreakCause> broken;
  std::vector<Departure> departures;         // in their order
  std::unique_ptr<ShrinkMeeting> shrinking;  // once a member has called shrink

  // label_of its info, made once: O(members).
  const std::string& label() const {
    if (label_.empty()) label_ = label_of(*info);
    return label_;
  }

  int size() const noexcept { return info->size; }
  int root_rank_of(int member) const noexcept {
    return info->root_ranks[static_cast<std::size_t>(member)];
  }

 private:
  mutable std::string label_;
};

// "rank 3", "ranks 0-3,8": members of `gang` as root ranks.
std::string members_text(const GangState& gang, const std::vector<int>& members);

// Members that have not come to the operation.
std::vector<int> missing_members(const MatchSlot& slot);

// The operation that a call is about: its own or, while it is queued on its rank's stream, the
// oldest that others of the gang have come to; null where nobody has.
const MatchSlot* slot_of(const GangState& gang, const PendingOperation& pending) noexcept;

}  // namespace gang::sim
