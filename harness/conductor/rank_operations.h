// The operations of a rank that its process may still ask for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "harness/conductor/started_operation.h"
#include "sim/simulation.h"

namespace gang::harness {

// By the numbers that the process gives them. Errors: ProtocolError for a number that is not known,
// or known already.
class RankOperations {
 public:
  using Operation = std::shared_ptr<StartedOperation>;

  explicit RankOperations(sim::SimulatedRank& rank) noexcept : rank_(rank) {}

  // Before it is started.
  void add(const Operation& operation);

  // The one of this number. Its start may be on another connection and not have been taken yet:
  // blocks the calling context for it, if `may_come`. `call_site`: where the process asks.
  Operation await(std::uint64_t id, bool may_come, const CallSite& call_site);

  // They have been waited for; their numbers are free, unless others have them by now.
  void erase(std::span<const Operation> operations);

  // Nobody asks for it any more; it goes on, since its end would have to be waited for.
  void drop(std::uint64_t id);

  // Those that nobody has waited for, which outlive the program.
  std::vector<Operation> take_rest();

 private:
  Operation find(std::uint64_t id) const;

  sim::SimulatedRank& rank_;
  std::map<std::uint64_t, Operation> operations_;
  std::vector<Operation> dropped_;
  int awaited_ = 0;  // contexts that wait for one to be added
};

}  // namespace gang::harness
