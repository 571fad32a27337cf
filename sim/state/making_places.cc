#include "sim/state/making_places.h"

#include <utility>

namespace gang::sim {

void MakingPlaces::note(int member, const CallSite& call_site) {
  if (!std::exchange(has_common_, true)) common_ = call_site;
  if (others_ != nullptr) others_->erase(member);
  if (is_same_object(call_site, common_)) return;
  if (others_ == nullptr) others_ = std::make_unique<std::unordered_map<int, CallSite>>();
  others_->emplace(member, call_site);
}

const CallSite& MakingPlaces::of(int member) const noexcept {
  if (others_ == nullptr) return common_;
  const auto own = others_->find(member);
  return own == others_->end() ? common_ : own->second;
}

}  // namespace gang::sim
