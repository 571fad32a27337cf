// Where the calls of a gang's members meet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gang/call_site.h"
#include "gang/recycled.h"
#include "sim/state/fingerprint.h"

namespace gang::sim {

struct GangState;
struct PendingOperation;
struct Task;

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

// The k-th operation of a gang while its members arrive.
struct MatchSlot : Recycled<MatchSlot> {
  explicit MatchSlot(std::uint32_t of) : size(of), members(of, nullptr), seats(of) {}

  bool is_full() const noexcept { return arrived == size; }

  // Copies `result`, if there is one, to the memory of a member; null: it gets none.
  void copy_result(std::byte* output) const noexcept {
    if (result_bytes != 0 && output != nullptr) copy_few(output, result.data(), result_bytes);
  }

  std::uint64_t sequence_number = 0;
  Fingerprint first;
  const std::uint32_t size;  // of the gang
  std::uint32_t arrived = 0;
  std::uint32_t departures_left = 0;  // members yet to take what the slot has for them
  std::uint32_t async_members = 0;
  bool is_mismatched = false;
  bool is_complete = false;
  std::uint8_t result_bytes = 0;  // in `result`, which those that block take when they resume
  bool has_other_places = false;  // some member called it at another site than the first
  std::uint8_t value_bytes = 0;   // that each seat keeps; set by the first member
  CallSite first_site;            // of the first member
  InlineValue result{};
  MatchSlot* next_free = nullptr;           // while it is free
  std::size_t place = 0;                    // in its pool
  RecycledList<PendingOperation*> members;  // by rank in the gang; null: not arrived
  RecycledList<Seat> seats;                 // the same; written when its member arrives
  std::vector<ChildSeat> children;          // create_gang and split only
};

// The slots of a run's gangs of one size: most of them are at an operation at different times.
class SlotPool {
 public:
  // `seats_made` counts the seats of all slots of the run.
  SlotPool(std::uint32_t size, std::size_t& seats_made) : size_(size), seats_made_(seats_made) {}
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // A slot at which nobody has arrived, in use until it is given back.
  MatchSlot& take() {
    if (free_ == nullptr) [[unlikely]]
      add();
    return *std::exchange(free_, free_->next_free);
  }

  // `slot` was taken. Nobody may use it any more: if slots take much memory, it is freed.
  void give_back(MatchSlot& slot) {
    if (seats_made_ > most_seats_kept) [[unlikely]]
      return remove(slot);
    slot.arrived = slot.async_members = slot.departures_left = 0;
    slot.is_mismatched = slot.is_complete = slot.has_other_places = false;
    slot.result_bytes = 0;
    std::fill(slot.members.begin(), slot.members.end(), nullptr);
    if (!slot.children.empty()) [[unlikely]]
      drop_children(slot);
    slot.next_free = std::exchange(free_, &slot);
  }

 private:
  // While all slots of a run have more seats than this, 8 MiB of them, free ones are not kept.
  static constexpr std::size_t most_seats_kept = 1 << 18;

  [[gnu::noinline]] void add();
  [[gnu::noinline]] void remove(MatchSlot& slot);
  [[gnu::noinline]] static void drop_children(MatchSlot& slot);

  const std::uint32_t size_;
  std::size_t& seats_made_;
  MatchSlot* free_ = nullptr;
  RecycledList<std::unique_ptr<MatchSlot>> slots_;  // all of them
};

// Those of one run, by size.
class SlotPools {
 public:
  // Stays where it is.
  SlotPool& of_size(int size) {
    const auto members = static_cast<std::uint32_t>(size);
    return pools_.try_emplace(members, members, seats_made_).first->second;
  }

  // Of all slots, in use or free.
  std::size_t seats_made() const noexcept { return seats_made_; }

 private:
  using Entry = std::pair<const std::uint32_t, SlotPool>;

  std::size_t seats_made_ = 0;
  std::map<std::uint32_t, SlotPool, std::less<>, RecyclingAllocator<Entry>> pools_;
};

}  // namespace gang::sim
