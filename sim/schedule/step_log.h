// What the contexts of a run did to each other, step by step.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/flat_set.hpp>

#include "gang/call_site.h"
#include "sim/schedule/context_bits.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

// Names a context, or an object that contexts share, by what the program did to make it: the same
// in every run, whatever the schedule.
using StepKey = std::uint64_t;

enum class AccessKind : std::uint8_t {
  message,       // puts a message into a mailbox
  call,          // breaks a gang, or calls on one and does none of what follows
  lock,          // takes a mutex
  try_lock,      // tries to take one
  unlock,        // lets one go
  wait,          // begins to wait for a condition
  notification,  // notifies a condition
  arrival,       // does its part of what several ranks meet in, or ends what others look at
  look,          // sees whether that has ended
  fault,         // a fault happens, or something depends on whether one has
  key,           // uses a key of a store
  presence,      // waits for a key, makes or erases it: commutes unless some rank erases it
  device,        // launches on a device, lets it start what is ready, or is what it starts first
};

// Two accesses to one object commute unless one of them writes, or one arrives and one looks.
enum class AccessMode : std::uint8_t { read, write, arrive, look };
inline constexpr std::size_t access_modes = 4;

constexpr bool conflict(AccessMode a, AccessMode b) noexcept {
  using enum AccessMode;
  return a == write || b == write || (a == arrive && b == look) || (a == look && b == arrive);
}

// Some of them.
class AccessModes {
 public:
  constexpr AccessModes() = default;
  constexpr explicit AccessModes(AccessMode mode) noexcept
      : bits_(static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode))) {}

  // Those that do not commute with `mode`.
  static constexpr AccessModes conflicting_with(AccessMode mode) noexcept;

  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr bool contains(AccessMode mode) const noexcept {
    return !(*this & AccessModes(mode)).empty();
  }
  constexpr AccessModes operator&(AccessModes other) const noexcept {
    return AccessModes(static_cast<std::uint8_t>(bits_ & other.bits_));
  }
  constexpr AccessModes operator|(AccessModes other) const noexcept {
    return AccessModes(static_cast<std::uint8_t>(bits_ | other.bits_));
  }
  constexpr void add(AccessMode mode) noexcept { *this = *this | AccessModes(mode); }

  // Calls `f` with each.
  template <typename F>
  constexpr void for_each(const F& f) const {
    for (unsigned bits = bits_; bits != 0; bits &= bits - 1)
      f(static_cast<AccessMode>(std::countr_zero(bits)));
  }

 private:
  constexpr explicit AccessModes(std::uint8_t bits) noexcept : bits_(bits) {}

  std::uint8_t bits_ = 0;
};

// By mode.
inline constexpr std::array<AccessModes, access_modes> conflicting_modes = [] {
  std::array<AccessModes, access_modes> found;
  for (std::size_t a = 0; a < access_modes; ++a)
    for (std::size_t b = 0; b < access_modes; ++b)
      if (conflict(static_cast<AccessMode>(a), static_cast<AccessMode>(b)))
        found[a].add(static_cast<AccessMode>(b));
  return found;
}();

constexpr AccessModes AccessModes::conflicting_with(AccessMode mode) noexcept {
  return conflicting_modes[static_cast<std::size_t>(mode)];
}

// Something that a step did which may not commute with what another context did.
struct Access {
  AccessKind kind = AccessKind::call;
  AccessMode mode = AccessMode::read;
  std::int32_t tag = 0;   // message only
  std::int32_t rank = 0;  // who, as a root rank
  TaskId task = 0;        // the context; of what is in a log
  StepKey object = 0;     // message: the mailbox
  StepKey gang = 0;       // of a call: the gang, whose state it reads as well; 0: none
  StepKey operation = 0;  // the operation that did it, where there is one
  CallSite site;          // where
};

// Of a mutex, what a try_lock depends on: it does not wait for the mutex. Who takes the mutex or
// lets it go reads it.
constexpr StepKey attempts_on(StepKey mutex) noexcept { return mutex + 1; }

// The mutex that an access takes (mode write), tries to take or lets go.
constexpr StepKey mutex_of(const Access& access) noexcept {
  return access.kind == AccessKind::lock ? access.object : access.object - attempts_on(0);
}

// A mailbox, and a tag for which a receive from any source has asked there.
struct AnyReceive {
  StepKey mailbox = 0;
  std::int32_t tag = 0;  // any_tag: any

  friend auto operator<=>(const AnyReceive&, const AnyReceive&) = default;
};

// Two messages to one mailbox commute unless one such receive could take either.
using AnyReceives = boost::container::flat_set<AnyReceive>;

// What runs show of a program, of which it depends what else may not commute.
struct Knowledge {
  AnyReceives any_receives;
  // Objects of AccessKind::presence. Any other key is there for good once it has been made, and
  // whoever waits for it comes after that, whenever it looks. Those that are awaited together with
  // an erased one count as erased, too, once merged.
  boost::container::flat_set<StepKey> erased_keys;
  boost::container::flat_set<std::pair<StepKey, StepKey>> awaited_together;

  void clear() noexcept {
    any_receives.clear();
    erased_keys.clear();
    awaited_together.clear();
  }
  friend bool operator==(const Knowledge&, const Knowledge&) = default;
};

// Adds what is new.
void merge(Knowledge& known, const Knowledge& further);

// Whether a merge would change nothing.
bool contains(const Knowledge& known, const Knowledge& further);

// A receive from any source, and the message that it took.
struct TakenByAny {
  StepKey message = 0;  // the operation that sent it
  std::int32_t rank = 0;
  CallSite site;
};

// Something that a step had to come after, or that comes after it, between its accesses. A step is
// what a context does from one choice to the next.
struct StepMark {
  enum class Kind : std::uint8_t {
    publish,  // who joins the object `value` from now on comes after this
    join,     // this comes after all that was published for the object
    found,    // the same, unless the object is a key that some rank erases
    carry,    // what was published for the object `value` ...
    into,     // ... is published for this one, too
    rest,     // no context could run: what follows comes after all that was; ends the step
    start,    // the context `value` begins, after this
  };
  Kind kind = Kind::publish;
  std::uint32_t accesses = 0;  // of the run, before it
  std::uint64_t value = 0;
};

// A choice of a step, and those who could have made it; or a pick, which the context of the step
// before makes, and the ways in which it goes on.
struct StepChoice {
  StepKey chosen = 0;
  TaskId task = 0;                  // the context
  std::uint32_t first_mark = 0;     // of the step, in StepLog::marks
  std::uint32_t first_access = 0;   // in StepLog::accesses
  std::uint32_t first_enabled = 0;  // in StepLog::enabled; of a pick: in StepLog::ways
  std::uint32_t enabled_size = 0;   // there
  bool is_pick = false;
};

struct StepLog {
  std::vector<StepMark> marks;
  std::vector<Access> accesses;
  std::vector<StepChoice> choices;
  std::vector<std::uint64_t> enabled;  // of the choices that are no picks: words of ContextBits
  std::vector<Access> ways;            // of the picks
  std::vector<StepKey> contexts;       // by TaskId
  std::vector<std::string> names;      // of contexts, by TaskId; empty: a rank's program
  std::vector<TaskId> parents;         // who started it, by TaskId; no_task: nobody
  std::vector<TakenByAny> taken;
  Knowledge knowledge;  // what this run shows
  // Who called first on a gang of a foreign backend, by the rank's place in it.
  std::map<StepKey, TaskId> seats;
  // Several contexts of a rank called on one, or, under faults, any of them called: which of them
  // were there at once is not noted.
  bool is_incomplete = false;

  bool is_last(std::size_t step) const noexcept { return step + 1 == choices.size(); }

  // What a step did. Requires that there is such a step.
  std::span<const StepMark> marks_of(std::size_t step) const noexcept {
    return std::span(marks.begin() + choices[step].first_mark,
                     is_last(step) ? marks.end() : marks.begin() + choices[step + 1].first_mark);
  }
  std::span<const Access> accesses_of(std::size_t step) const noexcept {
    return std::span(accesses).subspan(choices[step].first_access,
                                       accesses_up_to(step) - choices[step].first_access);
  }
  // Which step did the access, an index. Requires that there is such a step.
  std::size_t step_of(std::size_t access) const noexcept {
    const auto after = std::ranges::upper_bound(choices, access, {}, &StepChoice::first_access);
    return static_cast<std::size_t>(after - choices.begin()) - 1;
  }
  // Those of the step, and of those before it.
  std::size_t accesses_up_to(std::size_t step) const noexcept {
    return is_last(step) ? accesses.size() : choices[step + 1].first_access;
  }

  // Who could have made the step, the chosen one included; empty for picks.
  ContextBits enabled_at(const StepChoice& choice) const noexcept {
    if (choice.is_pick) return ContextBits({});
    return ContextBits(std::span(enabled).subspan(choice.first_enabled, choice.enabled_size));
  }

  // The ways of a pick; empty for other choices.
  std::span<const Access> ways_at(const StepChoice& choice) const noexcept {
    if (!choice.is_pick) return {};
    return std::span(ways).subspan(choice.first_enabled, choice.enabled_size);
  }

  // Calls `f` with each of those who could have made the step, or the names of the ways of a pick.
  template <typename F>
  void for_each_enabled(const StepChoice& choice, const F& f) const {
    for (const Access& way : ways_at(choice)) f(way.object);
    enabled_at(choice).for_each([&](TaskId task) { f(contexts[task]); });
  }

  // Tells whether two runs have the same ones at a step: keys are hashes.
  std::uint64_t digest_of_enabled(const StepChoice& choice) const noexcept {
    std::uint64_t digest = 0;
    for_each_enabled(choice, [&digest](StepKey key) { digest += key; });
    return digest;
  }

  void clear() noexcept;
};

// Of a mailbox, what is looked at to see whether a message has come, from any rank or from one, a
// root rank. Every message arrives there.
StepKey coming_to(StepKey mailbox) noexcept;
StepKey coming_from(int rank, StepKey mailbox) noexcept;

// An object for which an access counts.
struct UsedObject {
  StepKey object = 0;
  AccessMode mode = AccessMode::read;
};

// All of them, appended to `into`.
void add_objects(const Access& access, const Knowledge& known, std::vector<UsedObject>& into);

// Of these, for a message: one for each of the receives that could take it; and where it arrives,
// which matters only to those who look for messages.
void add_takers(const Access& message, const Knowledge& known, std::vector<UsedObject>& into);
void add_arrivals(const Access& message, std::vector<UsedObject>& into);

// Whether two steps of different contexts do not commute.
bool conflict(std::span<const Access> a, std::span<const Access> b, const Knowledge& known);

}  // namespace gang::sim
