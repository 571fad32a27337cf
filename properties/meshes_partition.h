// Laws of every parallel layout, by arithmetic alone.
#pragma once

#include <functional>
#include <vector>

#include "gang/gangs.h"
#include "properties/property.h"

namespace gang::properties {

// The layout of a world: the function under test.
using LayoutFunction =
    std::function<GangLayout(int world, const ParallelSizes&, std::optional<int> intra_node_size)>;

// For every factorisation (pp, dp, tp, intra-node) of every world up to 4 Settings::max_world,
// since they cost little.
std::vector<Property> meshes_partition(const LayoutFunction& layout = layout_of);

}  // namespace gang::properties
