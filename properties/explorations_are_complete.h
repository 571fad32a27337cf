// An exploration of every schedule leaves none out, and makes none twice.
#pragma once

#include <functional>
#include <vector>

#include "properties/property.h"
#include "sim/further_runs/every_schedule.h"

namespace gang::properties {

// Explores as sim::run_every_schedule does.
using Explore = std::function<sim::EverySchedule(const sim::SimulationOptions&,
                                                 const sim::RunAgain&, const sim::ScheduleRan&)>;

inline sim::EverySchedule explore_in_one_thread(const sim::SimulationOptions& options,
                                                const sim::RunAgain& again,
                                                const sim::ScheduleRan& ran) {
  return sim::run_every_schedule(options, again, ran);
}

// Suite exploration: against every interleaving of small worlds, and against random schedules of
// larger ones.
std::vector<Property> explorations_are_complete(const Explore& explore = explore_in_one_thread);

}  // namespace gang::properties
