// The gangs that simulated ranks make from a layout.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gang/gangs.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// How a rank makes the gangs of a layout: the function under test.
using GangsFunction = std::function<Gangs(const std::shared_ptr<Gang>& root, const ParallelSizes&,
                                          std::optional<int> intra_node_size)>;

// create_parallel_gangs, and create_fsdp_gangs if nodes are given.
Gangs make_layout_gangs(const std::shared_ptr<Gang>& root, const ParallelSizes& sizes,
                        std::optional<int> intra_node_size);

// For every factorisation of every world up to Settings::max_world, on simulated ranks.
std::vector<Property> gangs_follow_meshes(const GangsFunction& make_gangs = make_layout_gangs,
                                          const Subject& subject = {});

}  // namespace gang::properties
