// Parallel layouts: every factorisation of a world into pp, dp, tp and nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gang/gangs.h"

namespace gang::properties {

struct LayoutCase {
  int pp = 1;
  int dp = 1;
  int tp = 1;
  std::optional<int> intra_node_size;  // more than 1, divides dp

  int world() const noexcept { return pp * dp * tp; }
  ParallelSizes sizes() const noexcept { return {.tp_size = tp, .pp_size = pp}; }
  friend bool operator==(const LayoutCase&, const LayoutCase&) = default;
};

// Every layout of every world up to `max_world`, small worlds first.
std::vector<LayoutCase> all_layouts(int max_world);

std::string to_text(const LayoutCase& layout);
std::vector<LayoutCase> shrinks(const LayoutCase& layout);

}  // namespace gang::properties
