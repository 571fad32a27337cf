// The pipeline schedules used in practice.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/pipeline/schedule.h"

namespace gang::harness {

enum class ScheduleKind : std::uint8_t { gpipe, one_f_one_b, interleaved_1f1b, zero_bubble_h1 };

inline constexpr std::array all_schedule_kinds = {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                                  ScheduleKind::interleaved_1f1b,
                                                  ScheduleKind::zero_bubble_h1};

// "gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1".
std::string_view to_string(ScheduleKind kind) noexcept;

// The inverse. Throws InvalidArgument that lists the names and suggests the nearest.
ScheduleKind parse_schedule_kind(std::string_view text);

// Throws InvalidArgument, naming the possible sizes, unless all sizes are at least 1 and there are
// at least as many microbatches as ranks. interleaved_1f1b needs a multiple of `ranks`
// microbatches; the others need one stage per rank. At most 2^22 stages times microbatches.
void check_sizes(ScheduleKind kind, const PipelineSizes& sizes);

// The schedule. Throws like check_sizes.
//
// Sources: Y. Huang et al., "GPipe", NeurIPS 2019 (gpipe); D. Narayanan et al., "Efficient
// Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021 (1f1b,
// interleaved_1f1b); P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024 (ZB-H1).
PipelineSchedule make_schedule(ScheduleKind kind, const PipelineSizes& sizes);

// What formulas say about a schedule of R ranks, V stages per rank and M microbatches whose passes
// have the lengths of `duration_of`.
struct ScheduleBounds {
  std::string bubble_formula;    // "(R-1) / (M + R-1)": the idle share of a rank's time
  std::int64_t idle_units = 0;   // of each rank, between the first and the last pass of any rank
  std::int64_t total_units = 0;  // the length of that time
  std::vector<int> most_activations;  // by rank: stored activations of one microbatch on one stage
};
ScheduleBounds bounds_of(ScheduleKind kind, const PipelineSizes& sizes);

// Where `schedule`, which must be valid, deviates from its formulas; empty if nowhere. It may store
// fewer activations, but idle times must be equal.
std::vector<std::string> check_bounds(const PipelineSchedule& schedule,
                                      const ScheduleBounds& bounds);

}  // namespace gang::harness
