// How often receives from any source have taken a message, and whose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gang/collective.h"
#include "gang/recycled.h"

namespace gang::sim {

// Messages that were taken from one source with one tag.
struct TakenFrom {
  int tag = 0;
  int source = 0;
  int count = 0;
  Collective last;  // its send; its label is not kept
};

// Of the receives from any source of one member. Few sources are searched; many are indexed.
class TakenTally {
 public:
  // One of them has taken the message of `send`, which `source` (a rank of the gang) called.
  void count(int source, const Collective& send);

  // The greatest of the counts; 0: there is none.
  int most() const noexcept { return most_; }

  // How many messages of `source` with the tag have been taken.
  int count_of(int tag, int source) const;

  // Those with the tag of which at least `least` messages have been taken, by source.
  std::vector<TakenFrom> with_tag(int tag, int least = 1) const;

 private:
  using Places = std::unordered_map<std::uint64_t, std::size_t>;  // by tag and source

  static constexpr std::size_t most_searched = 16;

  // In taken_, whose size it is if there is none.
  std::size_t place_of(int tag, int source) const;
  void add(int tag, int source);

  RecycledList<TakenFrom> taken_;   // in the order in which each was first
  std::unique_ptr<Places> places_;  // in taken_; null: few
  int most_ = 0;
};

}  // namespace gang::sim
