#include "sim/state/taken_tally.h"

#include <algorithm>
#include <iterator>

namespace gang::sim {
namespace {

std::uint64_t key_of(int tag, int source) noexcept {
  return std::uint64_t{static_cast<std::uint32_t>(tag)} << 32 | static_cast<std::uint32_t>(source);
}

}  // namespace

std::size_t TakenTally::place_of(int tag, int source) const {
  if (places_ != nullptr) {
    const auto place = places_->find(key_of(tag, source));
    return place == places_->end() ? taken_.size() : place->second;
  }
  std::size_t place = 0;
  while (place < taken_.size() && (taken_[place].source != source || taken_[place].tag != tag))
    ++place;
  return place;
}

void TakenTally::add(int tag, int source) {
  constexpr std::size_t mostly_enough = 4;
  if (taken_.empty()) taken_.reserve(mostly_enough);
  TakenFrom& entry = taken_.emplace_back();
  entry.tag = tag;
  entry.source = source;
  if (taken_.size() <= most_searched) return;
  if (places_ == nullptr) places_ = std::make_unique<Places>();
  for (std::size_t place = places_->size(); place < taken_.size(); ++place)
    places_->try_emplace(key_of(taken_[place].tag, taken_[place].source), place);
}

void TakenTally::count(int source, const Collective& send) {
  const std::size_t place = place_of(send.tag, source);
  if (place == taken_.size()) add(send.tag, source);
  TakenFrom& entry = taken_[place];
  most_ = std::max(most_, ++entry.count);
  entry.last = send;
  entry.last.label = {};
}

int TakenTally::count_of(int tag, int source) const {
  const std::size_t place = place_of(tag, source);
  return place == taken_.size() ? 0 : taken_[place].count;
}

std::vector<TakenFrom> TakenTally::with_tag(int tag, int least) const {
  std::vector<TakenFrom> found;
  if (most_ < least) return found;
  std::ranges::copy_if(taken_, std::back_inserter(found), [tag, least](const TakenFrom& entry) {
    return entry.tag == tag && entry.count >= least;
  });
  std::ranges::sort(found, {}, &TakenFrom::source);
  return found;
}

}  // namespace gang::sim
