// The members of a gang that have dropped their handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gang/call_site.h"
#include "gang/recycled.h"

namespace gang::sim {

// The last collective that a member had called on the gang when it dropped its handle.
struct Departure {
  std::uint64_t calls = 0;  // collectives
  CallSite call_site;       // of the last one
};

// Most members of a gang leave it after the same call: that is kept once.
class Departures {
 public:
  // Of a gang of `size` members.
  explicit Departures(int size) : by_member_(static_cast<std::size_t>(size)) {}

  // Of a member that leaves twice, the later departure is kept.
  void note(int member, const Departure& departure);

  // `member` in [0, size). Null: it still holds its handle, or has called nothing. Valid until the
  // next `note`.
  const Departure* of(int member) const noexcept {
    const std::uint32_t place = by_member_[static_cast<std::size_t>(member)];
    return place == 0 ? nullptr : &different_[place - 1];
  }

 private:
  RecycledList<std::uint32_t> by_member_;  // 1 + the place in `different_`; 0: none
  RecycledList<Departure> different_;
};

}  // namespace gang::sim
