// The list of properties.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// Suites without types of their own, each in the file of its name.

// Operations composed of others give the same results: the algebra of the collectives, on any gang,
// type, root and reduce operation, with inputs that are exact in every order of reduction.
std::vector<Property> algorithms_agree(const Subject& subject = {});

// Gangs made from gangs, and gangs beside gangs.
std::vector<Property> gangs_compose(const Subject& subject = {});

// A run is a function of its program, options and seed: the same seed, a replayed schedule, fibers
// and threads give the same trace and results; other schedules the same results.
std::vector<Property> runs_replay(const Subject& subject = {});

// Every property of every suite, in the order in which `gangsim check` shows them.
std::vector<Property> all_properties(const Subject& subject = {});

// The properties of gangs as such, on simulated gangs over Gloo's algorithms (backend "sim-gloo").
// The rest of `all_properties` is about the simulator's own matching.
std::vector<Property> properties_over_gloo();

// The same on a simulated NCCL (backend "sim-nccl").
std::vector<Property> properties_over_nccl();

}  // namespace gang::properties
