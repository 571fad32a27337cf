#include "harness/pipeline/stock_schedules.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

using Passes = std::vector<StagePass>;

// All forward passes, then all backward passes.
Passes gpipe(const PipelineSizes& sizes, int rank) {
  Passes passes;
  for (int m = 0; m < sizes.microbatches; ++m) passes.push_back({rank, m, Pass::forward});
  for (int m = 0; m < sizes.microbatches; ++m) passes.push_back({rank, m, Pass::backward});
  return passes;
}

// Forward passes until the first gradient can arrive, then one forward, one backward. With
// `delay` the backward pass is split (ZB-H1): weight gradients wait for that many more input
// gradients, which fills the time in which the rank would wait for others. With a delay of r on
// rank r, no rank stores more than rank 0 of 1F1B does.
Passes one_f_one_b(const PipelineSizes& sizes, int rank, std::optional<int> delay = std::nullopt) {
  const int warm_up = std::min(sizes.microbatches, sizes.ranks - rank - 1);
  Passes passes;
  for (int m = 0; m < warm_up; ++m) passes.push_back({rank, m, Pass::forward});
  for (int m = 0; m < sizes.microbatches; ++m) {
    const int ahead = warm_up + m;
    if (ahead < sizes.microbatches) passes.push_back({rank, ahead, Pass::forward});
    passes.push_back({rank, m, delay ? Pass::backward_input : Pass::backward});
    if (delay && m >= *delay) passes.push_back({rank, m - *delay, Pass::backward_weight});
  }
  for (int m = std::max(0, sizes.microbatches - delay.value_or(0)); m < sizes.microbatches; ++m)
    passes.push_back({rank, m, Pass::backward_weight});
  return passes;
}

// The n-th forward pass of a rank (or backward pass, mirrored): `ranks` microbatches pass through
// its first stage, then the same ones through its next stage, and so on.
StagePass interleaved_pass(const PipelineSizes& sizes, int rank, int n, Pass pass) {
  const int in_group = n % sizes.stages();
  const int group = n / sizes.stages();
  const int turn = in_group / sizes.ranks;
  const int chunk = pass == Pass::forward ? turn : sizes.stages_per_rank - 1 - turn;
  return {.stage = chunk * sizes.ranks + rank,
          .microbatch = group * sizes.ranks + in_group % sizes.ranks,
          .pass = pass};
}

int interleaved_warm_up(const PipelineSizes& sizes, int rank) {
  const int steps = 2 * (sizes.ranks - rank - 1) + (sizes.stages_per_rank - 1) * sizes.ranks;
  return std::min(steps, sizes.microbatches * sizes.stages_per_rank);
}

Passes interleaved_1f1b(const PipelineSizes& sizes, int rank) {
  const int steps = sizes.microbatches * sizes.stages_per_rank;
  const int warm_up = interleaved_warm_up(sizes, rank);
  Passes passes;
  for (int n = 0; n < warm_up; ++n)
    passes.push_back(interleaved_pass(sizes, rank, n, Pass::forward));
  for (int n = 0; n < steps; ++n) {
    if (warm_up + n < steps)
      passes.push_back(interleaved_pass(sizes, rank, warm_up + n, Pass::forward));
    passes.push_back(interleaved_pass(sizes, rank, n, Pass::backward));
  }
  return passes;
}

Passes passes_of(ScheduleKind kind, const PipelineSizes& sizes, int rank) {
  switch (kind) {
    case ScheduleKind::gpipe:
      return gpipe(sizes, rank);
    case ScheduleKind::one_f_one_b:
      return one_f_one_b(sizes, rank);
    case ScheduleKind::interleaved_1f1b:
      return interleaved_1f1b(sizes, rank);
    case ScheduleKind::zero_bubble_h1:
      return one_f_one_b(sizes, rank, rank);
  }
  return {};
}

int most_activations_of(ScheduleKind kind, const PipelineSizes& sizes, int rank) {
  switch (kind) {
    case ScheduleKind::gpipe:
      return sizes.microbatches;
    case ScheduleKind::one_f_one_b:
      return std::min(sizes.microbatches, sizes.ranks - rank);
    case ScheduleKind::interleaved_1f1b:
      return std::min(sizes.microbatches * sizes.stages_per_rank,
                      interleaved_warm_up(sizes, rank) + 1);
    case ScheduleKind::zero_bubble_h1:
      return std::min(sizes.microbatches, sizes.ranks);
  }
  return 0;
}

std::string_view bubble_formula_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::gpipe:
    case ScheduleKind::one_f_one_b:
      return "(R-1) / (M + R-1)";
    case ScheduleKind::interleaved_1f1b:
      return "(R-1) / (V M + R-1)";
    case ScheduleKind::zero_bubble_h1:
      return "(R-1) / (3 M + R-1)";
  }
  return {};
}

void check_at_least_one(std::string_view name, int value) {
  if (value < 1) throw InvalidArgument(fmt::format("{} is {}; must be at least 1", name, value));
}

}  // namespace

std::string_view to_string(ScheduleKind kind) noexcept {
  constexpr std::string_view names[] = {"gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1"};
  return names[static_cast<std::size_t>(kind)];
}

ScheduleKind parse_schedule_kind(std::string_view text) {
  std::vector<std::string> names;
  for (const ScheduleKind kind : all_schedule_kinds) {
    if (to_string(kind) == text) return kind;
    names.emplace_back(to_string(kind));
  }
  throw InvalidArgument("schedule " + unknown_name(text, names));
}

void check_sizes(ScheduleKind kind, const PipelineSizes& sizes) {
  constexpr std::int64_t most_passes = 1 << 22;
  check_at_least_one("the number of ranks of the pipeline", sizes.ranks);
  check_at_least_one("the number of stages per rank", sizes.stages_per_rank);
  check_at_least_one("the number of microbatches", sizes.microbatches);
  const bool interleaves = kind == ScheduleKind::interleaved_1f1b;
  if (!interleaves && sizes.stages_per_rank != 1)
    throw InvalidArgument(fmt::format(
        "stages per rank is {}; must be 1 for schedule {} (only {} takes more)",
        sizes.stages_per_rank, to_string(kind), to_string(ScheduleKind::interleaved_1f1b)));
  if (sizes.microbatches < sizes.ranks)
    throw InvalidArgument(
        fmt::format("the number of microbatches is {}; must be {} {}, the number of pipeline ranks",
                    sizes.microbatches, interleaves ? "a multiple of" : "at least", sizes.ranks));
  if (interleaves && sizes.microbatches % sizes.ranks != 0) {
    const int below = sizes.microbatches / sizes.ranks * sizes.ranks;
    throw InvalidArgument(fmt::format(
        "the number of microbatches is {}; for {} it must be a multiple of {}, such as {} or {}",
        sizes.microbatches, to_string(kind), sizes.ranks, below, below + sizes.ranks));
  }
  const std::int64_t passes = std::int64_t{sizes.ranks} * sizes.stages_per_rank;
  if (passes > most_passes || passes * sizes.microbatches > most_passes)
    throw InvalidArgument(
        fmt::format("{} stages times {} microbatches; the product must be at most {}", passes,
                    sizes.microbatches, most_passes));
}

PipelineSchedule make_schedule(ScheduleKind kind, const PipelineSizes& sizes) {
  check_sizes(kind, sizes);
  PipelineSchedule schedule{.sizes = sizes, .by_rank = {}};
  for (int rank = 0; rank < sizes.ranks; ++rank)
    schedule.by_rank.push_back(passes_of(kind, sizes, rank));
  return schedule;
}

ScheduleBounds bounds_of(ScheduleKind kind, const PipelineSizes& sizes) {
  const std::int64_t busy = 3LL * sizes.microbatches * sizes.stages_per_rank;
  const int per_rank = kind == ScheduleKind::zero_bubble_h1 ? 1 : 3;
  ScheduleBounds bounds;
  bounds.bubble_formula = bubble_formula_of(kind);
  bounds.idle_units = std::int64_t{per_rank} * (sizes.ranks - 1);
  bounds.total_units = busy + bounds.idle_units;
  for (int rank = 0; rank < sizes.ranks; ++rank)
    bounds.most_activations.push_back(most_activations_of(kind, sizes, rank));
  return bounds;
}

}  // namespace gang::harness
