// Programs with threads of their own, under the scheduler and the virtual clock.
#pragma once

#include <string>
#include <vector>

#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// Every rank has a loader thread that hands items to the rank's program through a bounded queue.
struct LoaderCase {
  int world = 1;
  int items = 1;
  int capacity = 1;    // of the queue, >= 1
  int load_ms = 0;     // rank r sleeps r * load_ms before each item
  int train_ms = 0;    // the program's sleep after each item
  bool polls = false;  // the program waits with a timeout, repeatedly
  sim::SchedulerKind scheduler = sim::SchedulerKind::round_robin;
  std::uint64_t seed = 1;

  friend bool operator==(const LoaderCase&, const LoaderCase&) = default;
};

LoaderCase generate_loader(Draw& draw);
std::string to_text(const LoaderCase& loader);
std::vector<LoaderCase> shrinks(const LoaderCase& loader);

std::vector<Property> runtimes_are_deterministic(const Subject& subject = {});

}  // namespace gang::properties
