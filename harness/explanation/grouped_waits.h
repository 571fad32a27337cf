// Who waits for whom, grouped so that people can take it in.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/report/report.h"

namespace gang::harness {

// Contexts that are blocked in the same call; or ranks that are waited for and are not blocked.
struct WaitNode {
  std::vector<int> ranks;  // of the root gang, ascending
  std::string gang;        // "dp[0,2]", "dp (8 gangs)"; empty for mutexes, joins, sleeps
  std::string note;        // of ranks that are not blocked: "returned", ...; else empty
  const sim::BlockedCall*
      call;  // of the first rank; null for ranks that are not blocked. Borrowed.
  std::vector<std::string> call_stack;  // of one of them, where it is known
  bool is_alike = true;  // whether the others wait for the same ranks, in the same gang

  bool is_blocked() const noexcept { return call != nullptr; }
  bool is_core() const noexcept { return call != nullptr && call->is_core; }
};

// What its contexts are blocked in: "recv f32[4] from rank 3"; where they wait for other ranks
// each, "recv f32[4] from one rank each". `node` is blocked.
std::string operation_of(const WaitNode& node);

struct WaitEdge {
  std::size_t from = 0;
  std::size_t to = 0;

  friend auto operator<=>(const WaitEdge&, const WaitEdge&) = default;
};

// A value that borrows from the report it was made of.
struct GroupedWaits {
  std::vector<WaitNode> nodes;  // the core first, then those that wait for it, then the others
  std::vector<WaitEdge> edges;  // ascending, each once
};

// Contexts in equal calls that wait for the same ranks share a node; where that leaves many, those
// of gangs of one name do, then those whose calls differ in their arguments only.
// O(blocked contexts · log + edges).
GroupedWaits group_waits(const sim::Report& report);

}  // namespace gang::harness
