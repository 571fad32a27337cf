// When each pass of a pipeline schedule runs if messages take no time.
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

// Every rank computes its passes in order, each as soon as its inputs have been computed.
struct ScheduleTimeline {
  std::vector<std::vector<TimedPass>> by_rank;
  std::int64_t length = 0;  // when the last pass ends

  // If some passes can never run, each rank's next pass, by rank ("1B0", or "" for a rank that has
  // finished); empty if all passes run.
  std::vector<std::string> stuck;

  std::int64_t idle_units(int rank) const;
  // The idle share of all ranks' time.
  double bubble_fraction() const;
};

// `schedule` must have only passes within its sizes, each on the rank of its stage and none twice
// (check_schedule). O(passes).
ScheduleTimeline timeline_of(const PipelineSchedule& schedule);

// A table for people: a row per rank and a column per unit of time, at most 80 columns wide; later
// units of time follow in tables below, up to about 200 lines. "F3" is the forward pass of
// microbatch 3 ("2F3", on stage 2, if a rank has several stages), "==" continues a pass, "." is
// idle time.
std::string draw(const ScheduleTimeline& timeline, const PipelineSizes& sizes);

}  // namespace gang::harness
