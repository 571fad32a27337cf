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
  void count(int source, const Collective& send);

  bool empty() const noexcept { return taken_.empty(); }

  // Those with the tag, by source.
  std::vector<TakenFrom> with_tag(int tag) const;

 private:
  using Places = std::unordered_map<std::uint64_t, std::size_t>;  // by tag and source

  static constexpr std::size_t most_searched = 16;

  TakenFrom& entry_of(int tag, int source);
  TakenFrom& add(int tag, int source);

  RecycledList<TakenFrom> taken_;   // in the order in which each was first
  std::unique_ptr<Places> places_;  // in taken_; null: few
};

}  // namespace gang::sim
