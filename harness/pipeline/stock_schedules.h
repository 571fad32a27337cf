// The pipeline schedules that people train with.
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

// Throws InvalidArgument, which says the sizes that would do, unless all sizes are at least 1,
// there are as many microbatches as ranks or more, and: interleaved_1f1b has a multiple of `ranks`
// microbatches, the others one stage per rank. At most 2^22 passes in all.
void check_sizes(ScheduleKind kind, const PipelineSizes& sizes);

// The schedule. Throws as check_sizes.
//
// Sources: Y. Huang et al., "GPipe", NeurIPS 2019 (gpipe); D. Narayanan et al., "Efficient
// Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021 (1f1b,
// interleaved_1f1b); P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024 (ZB-H1).
PipelineSchedule make_schedule(ScheduleKind kind, const PipelineSizes& sizes);

// What is known of a schedule by formula, R ranks, V stages per rank, M microbatches, with passes
// of the lengths of `duration_of`.
struct ScheduleBounds {
  std::string bubble_formula;         // "(R-1) / (M + R-1)": the idle share of a rank's time
  std::int64_t idle_units = 0;        // of each rank, from the first pass to the last of all ranks
  std::int64_t total_units = 0;       // of that time
  std::vector<int> most_activations;  // by rank: stored activations of one microbatch on one stage
};
ScheduleBounds bounds_of(ScheduleKind kind, const PipelineSizes& sizes);

}  // namespace gang::harness
