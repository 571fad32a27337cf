// The last calls of one rank, in a ring, as Flight Recorder keeps them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gang/collective.h"
#include "gang/gang.h"
#include "gang/recording/call_table.h"
#include "gang/recording/dump.h"
#include "gang/runtime.h"

namespace gang {

// Shared by the gangs of a rank. Keeps call sites, whose texts must outlive it.
// Threads: any. Memory grows with the calls until the ring is full; then a call costs tens of
// nanoseconds, most of them for the time.
class CallRing {
 public:
  struct Options {
    int rank = 0;                 // of the root gang
    std::size_t capacity = 2000;  // calls that are kept, > 0
    bool is_in_stream = false;    // DumpedCall::is_in_stream
    Runtime* runtime = nullptr;   // whose clock the calls are timed by; outlives their gangs
    Duration clock_offset{0};     // what is added to that clock in dumps
  };
  explicit CallRing(const Options& options);
  virtual ~CallRing() = default;
  CallRing(const CallRing&) = delete;
  CallRing& operator=(const CallRing&) = delete;

  // The index of a gang, for `begin`. Gangs of one name and the same members share one, and their
  // numbers go on.
  std::uint32_t add_gang(const GangInfo& info);

  // The record of a call that begins now; of a batch, of its first message.
  std::uint64_t begin(std::uint32_t gang, const Operation& operation);

  // The rank waits for that call from now on; it no longer does, and the call is not complete. With
  // all messages of its batch, as below.
  void begin_wait(std::uint64_t record);
  void give_up_wait(std::uint64_t record);

  // That call is complete, with all messages of its batch. Nothing if the ring has lost it.
  void complete(std::uint64_t record);

  // A call on that gang has failed, and so will all others.
  void note_broken(std::uint32_t gang) noexcept;

  // The last call that has not ended within its timeout, counted from 1; 0 if there is none.
  std::uint64_t last_overdue() const;

  // The calls that are left, as the dump of this rank.
  Dump dump(CallTable& calls, ProgramEnd end) const;

 protected:
  // One of the gangs is broken. Called once for each.
  virtual void gang_broke() noexcept {}

 private:
  // Held for some nanoseconds; for microseconds where the ring grows.
  class Lock {
   public:
    explicit Lock(std::atomic_flag& flag) noexcept : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Lock() { flag_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic_flag& flag_;
  };

  struct Entry {
    Collective call;  // its label is in `label`
    std::string label;
    std::uint64_t record = 0;
    std::uint64_t first_of_batch = 0;
    std::optional<std::uint64_t> waited;
    TimePoint time{0};
    Duration timeout{0};
    std::uint32_t gang = 0;
    DumpedState state = DumpedState::started;
  };
  struct Gang {
    DumpedGroup group;
    std::uint64_t collectives = 0;
    bool is_broken = false;
  };

  // Calls `change` with the entries of that call that are left.
  template <typename Change>
  void change_batch(std::uint64_t record, const Change& change);

  Entry& add(std::uint32_t gang, const Operation& operation, const Collective& call,
             std::uint64_t sequence);

  // The oldest record that is left, and the entry of one that is.
  std::uint64_t oldest() const noexcept {
    return records_ - std::min<std::uint64_t>(records_, entries_.size());
  }
  const Entry& entry_of(std::uint64_t record) const noexcept {
    return entries_[record % options_.capacity];
  }
  Entry& entry_of(std::uint64_t record) noexcept { return entries_[record % options_.capacity]; }

  Options options_;
  mutable std::atomic_flag busy_;  // of what follows
  std::vector<Entry> entries_;     // by record, modulo the capacity; made when first used
  std::vector<Gang> gangs_;
  std::uint64_t records_ = 0;
  std::uint64_t messages_ = 0;
};

}  // namespace gang
