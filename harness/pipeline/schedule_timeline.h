// When each pass of a schedule runs, if messages took no time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/pipeline/schedule.h"

namespace gang::harness {

struct TimedPass {
  StagePass pass;
  std::int64_t start = 0;  // in units of a forward pass, from 0
  std::int64_t end = 0;
};

// Every rank computes its passes in order, each as soon as what it needs has been computed.
struct ScheduleTimeline {
  std::vector<std::vector<TimedPass>> by_rank;
  std::int64_t length = 0;  // when the last pass ends

  // The ranks' next passes, by rank, where none of them can ever run ("1B0", or "" for a rank that
  // is through); empty where all passes run.
  std::vector<std::string> stuck;

  std::int64_t idle_units(int rank) const;
  // The idle share of the time of all ranks together.
  double bubble_fraction() const;
};

// `schedule` has passes of its sizes only, each on the rank of its stage, none twice (as
// check_schedule tells). O(passes).
ScheduleTimeline timeline_of(const PipelineSchedule& schedule);

}  // namespace gang::harness
