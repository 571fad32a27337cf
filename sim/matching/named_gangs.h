// Gangs that ranks join by name, without an operation of all members.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang/gang.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

// Called under the engine's Guard.
class NamedGangs {
 public:
  explicit NamedGangs(World& world) noexcept : world_(world) {}

  // The handle that root rank `rank` gets of the gang with this key and the members of `info`,
  // which its first member makes, and whose collectives are numbered from `first_sequence`. Once
  // nobody holds a gang any more, the next one is another gang. The second gang of a name with the
  // same members is called "NAME (2)". Throws InvalidArgument unless the rank is a member.
  std::shared_ptr<Gang> join(GangInfo info, std::string_view key, int rank,
                             const CallSite& call_site, std::uint64_t first_sequence = 0);

 private:
  using Named = std::pair<std::string, std::vector<int>>;  // and its members

  World& world_;
  std::map<Named, std::weak_ptr<GangState>> gangs_;  // by key
  std::map<Named, int> made_;                        // how many, by name
};

}  // namespace gang::sim
