// The wait-for graph for Graphviz.
#pragma once

#include <string>

#include "sim/report/report.h"

namespace gang::harness {

// A DOT digraph of who waits for whom: the groups of group_waits. The core has bold red boxes and
// edges; what waits for any one of others is an ellipse with dashed edges, what waits for all of
// them a box; ranks that are not blocked are dotted. A run in which nobody waits gives a graph that
// says so. Source: graphviz.org, "DOT Language".
std::string to_dot(const sim::Report& report);

}  // namespace gang::harness
