#include "sim/state/departures.h"

namespace gang::sim {

void Departures::note(int member, const Departure& departure) {
  // Compared with the last one only, to which most are equal: O(1).
  const bool is_new = different_.empty() || different_.back().calls != departure.calls ||
                      !is_same_object(different_.back().call_site, departure.call_site);
  if (is_new) different_.push_back(departure);
  by_member_[static_cast<std::size_t>(member)] = static_cast<std::uint32_t>(different_.size());
}

}  // namespace gang::sim
