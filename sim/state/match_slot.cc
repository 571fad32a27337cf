#include "sim/state/match_slot.h"

#include "sim/state/gang_state.h"

namespace gang::sim {
namespace {

static_assert(sizeof(Seat) == 24);  // each member of a gang that is at an operation has one

}  // namespace

void SlotPool::add() {
  MatchSlot& slot = *slots_.emplace_back(std::make_unique<MatchSlot>(size_));
  slot.place = slots_.size() - 1;
  seats_made_ += size_;
  free_ = &slot;
}

void SlotPool::remove(MatchSlot& slot) {
  const std::size_t place = slot.place;
  slots_.back()->place = place;
  std::swap(slots_[place], slots_.back());
  slots_.pop_back();
  seats_made_ -= size_;
}

// Not `children = {}`, which keeps the memory.
void SlotPool::drop_children(MatchSlot& slot) { std::vector<ChildSeat>().swap(slot.children); }

}  // namespace gang::sim
