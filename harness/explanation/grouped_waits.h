// Who waits for whom, grouped so that people can take it in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/call_group.h"
#include "sim/report/report.h"

namespace gang::harness {

// Contexts that are blocked in the same call; or ranks that are waited for and are not blocked.
struct WaitNode {
  std::vector<int> ranks;                  // of the root gang, ascending
  std::string note = {};                   // of ranks that are not blocked: "returned", ...
  std::optional<sim::CallGroup> group;     // of those that are; borrows from the report
  std::vector<SourceLocation> call_stack;  // of one of them, where it is known

  bool is_blocked() const noexcept { return group.has_value(); }
  bool is_core() const noexcept { return group && group->first().is_core; }
};

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
// that share less do (sim::CallSharing).
// O(blocked contexts · log + edges).
GroupedWaits group_waits(const sim::Report& report);

// A DOT digraph of these groups, for Graphviz. The core has bold red boxes and edges; what waits
// for any one of others is an ellipse with dashed edges, what waits for all of them a box; ranks
// that are not blocked are dotted. If no rank waits, the graph says so. Source: graphviz.org, "DOT
// Language".
std::string to_dot(const sim::Report& report);

}  // namespace gang::harness
