// Where the members of a gang made it.
#pragma once

#include <memory>
#include <unordered_map>

#include "gang/call_site.h"

namespace gang::sim {

// The call by which each member made its handle; most members make it at the same place.
class MakingPlaces {
 public:
  // The last place of a member counts.
  void note(int member, const CallSite& call_site);

  // Line 0 if no call made it, as for a root gang.
  const CallSite& of(int member) const noexcept;

 private:
  bool has_common_ = false;
  CallSite common_;
  std::unique_ptr<std::unordered_map<int, CallSite>> others_;  // by member; null: there are none
};

}  // namespace gang::sim
