#include "sim/state/taken_tally.h"

#include <algorithm>

namespace gang::sim {
namespace {

std::uint64_t key_of(int tag, int source) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(tag)} << 32 | static_cast<std::uint32_t>(source);
}

}  // namespace

TakenFrom& TakenTally::add(int tag, int source) {
  if (places_ != nullptr) places_->try_emplace(key_of(tag, source), taken_.size());
  constexpr std::size_t mostly_enough = 4;
  if (taken_.empty()) taken_.reserve(mostly_enough);
  TakenFrom& entry = taken_.emplace_back();
  entry.tag = tag;
  entry.source = source;
  return entry;
}

TakenFrom& TakenTally::entry_of(int tag, int source) {
  if (taken_.size() <= most_searched) {
    for (TakenFrom& entry : taken_)
      if (entry.source == source && entry.tag == tag) return entry;
    return add(tag, source);
  }
  if (places_ == nullptr) {
    places_ = std::make_unique<Places>();
    for (std::size_t i = 0; i < taken_.size(); ++i)
      places_->try_emplace(key_of(taken_[i].tag, taken_[i].source), i);
  }
  const auto place = places_->find(key_of(tag, source));
  return place == places_->end() ? add(tag, source) : taken_[place->second];
}

void TakenTally::count(int source, const Collective& send) {
  TakenFrom& entry = entry_of(send.tag, source);
  ++entry.count;
  entry.last = send;
  entry.last.label = {};
}

std::vector<TakenFrom> TakenTally::with_tag(int tag) const {
  std::vector<TakenFrom> found;
  std::ranges::copy_if(taken_, std::back_inserter(found),
                       [tag](const TakenFrom& entry) { return entry.tag == tag; });
  std::ranges::sort(found, {}, &TakenFrom::source);
  return found;
}

}  // namespace gang::sim
