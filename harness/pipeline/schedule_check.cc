#include <algorithm>

#include <fmt/format.h>

#include "harness/pipeline/schedule_timeline.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

constexpr std::size_t most_complaints = 8;
constexpr int never = -1;

class ScheduleCheck {
 public:
  explicit ScheduleCheck(const PipelineSchedule& schedule)
      : schedule_(schedule), sizes_(schedule.sizes) {}

  std::vector<std::string> run() {
    if (!has_its_sizes()) return std::move(complaints_);
    places_.assign(pass_count(sizes_), never);
    for (std::size_t rank = 0; rank < schedule_.by_rank.size(); ++rank)
      place_passes(static_cast<int>(rank));
    if (!complaints_.empty()) return std::move(complaints_);
    for (int stage = 0; stage < sizes_.stages(); ++stage)
      for (int microbatch = 0; microbatch < sizes_.microbatches; ++microbatch)
        check_order(stage, microbatch);
    if (complaints_.empty()) check_progress();
    return std::move(complaints_);
  }

 private:
  void complain(std::string text) {
    if (complaints_.size() < most_complaints) complaints_.push_back(std::move(text));
  }

  bool has_its_sizes() {
    if (sizes_.ranks < 1 || sizes_.stages_per_rank < 1 || sizes_.microbatches < 1)
      complain(fmt::format("A schedule of {} has nothing to compute.", to_string(sizes_)));
    else if (schedule_.by_rank.size() != static_cast<std::size_t>(sizes_.ranks))
      complain(fmt::format("The schedule has passes for {} ranks, but the pipeline has {}.",
                           schedule_.by_rank.size(), sizes_.ranks));
    return complaints_.empty();
  }

  void place_passes(int rank) {
    const std::vector<StagePass>& passes = schedule_.by_rank[static_cast<std::size_t>(rank)];
    for (std::size_t place = 0; place < passes.size(); ++place) {
      const StagePass& pass = passes[place];
      if (pass.stage < 0 || pass.stage >= sizes_.stages() || pass.microbatch < 0 ||
          pass.microbatch >= sizes_.microbatches) {
        complain(
            fmt::format("Rank {} computes {}, but there are only {} stages and {} microbatches.",
                        rank, to_string(pass), sizes_.stages(), sizes_.microbatches));
      } else if (sizes_.rank_of(pass.stage) != rank) {
        complain(fmt::format("Rank {} computes {}, but stage {} is on rank {}.", rank,
                             to_string(pass), pass.stage, sizes_.rank_of(pass.stage)));
      } else if (place_of(pass) != never) {
        complain(fmt::format("Rank {} computes {} twice.", rank, to_string(pass)));
      } else {
        places_[index_of(pass, sizes_)] = static_cast<int>(place);
      }
    }
  }

  int place_of(const StagePass& pass) const { return places_[index_of(pass, sizes_)]; }

  void check_order(int stage, int microbatch) {
    const StagePass forward{stage, microbatch, Pass::forward};
    const StagePass backward{stage, microbatch, Pass::backward};
    const StagePass input{stage, microbatch, Pass::backward_input};
    const StagePass weight{stage, microbatch, Pass::backward_weight};
    if (!is_there(forward)) return;
    if (place_of(backward) == never) {
      if (place_of(input) == never && place_of(weight) == never) {
        is_there(backward);
        return;
      }
      if (!is_there(input) || !is_there(weight)) return;
      comes_first(forward, input);
      comes_first(input, weight);
      return;
    }
    comes_first(forward, backward);
    for (const StagePass& part : {input, weight})
      if (place_of(part) != never)
        complain(fmt::format("{} is part of {}, so it is computed twice.", to_string(part),
                             to_string(backward)));
  }

  bool is_there(const StagePass& pass) {
    if (place_of(pass) != never) return true;
    complain(fmt::format("{} is never computed.", to_string(pass)));
    return false;
  }

  void comes_first(const StagePass& first, const StagePass& second) {
    if (place_of(first) < place_of(second)) return;
    complain(fmt::format("Rank {} computes {} before {}, which it needs.",
                         sizes_.rank_of(first.stage), to_string(second), to_string(first)));
  }

  void check_progress() {
    const ScheduleTimeline timeline = timeline_of(schedule_);
    std::string waits;
    for (std::size_t rank = 0; rank < timeline.stuck.size(); ++rank) {
      if (timeline.stuck[rank].empty()) continue;
      waits +=
          fmt::format("{}rank {} with {}", waits.empty() ? "" : ", ", rank, timeline.stuck[rank]);
    }
    if (!waits.empty()) complain(fmt::format("Ranks wait for each other: {}.", waits));
  }

  const PipelineSchedule& schedule_;
  const PipelineSizes& sizes_;
  std::vector<int> places_;  // by index_of: the place in its rank's list
  std::vector<std::string> complaints_;
};

int peak_of(const std::vector<StagePass>& passes) {
  int stored = 0;
  int most = 0;
  for (const StagePass& pass : passes) {
    if (pass.pass == Pass::forward) most = std::max(most, ++stored);
    if (pass.pass == Pass::backward || pass.pass == Pass::backward_weight) --stored;
  }
  return most;
}

}  // namespace

std::vector<std::string> check_schedule(const PipelineSchedule& schedule) {
  return ScheduleCheck(schedule).run();
}

std::vector<int> peak_activations(const PipelineSchedule& schedule) {
  std::vector<int> peaks;
  for (const std::vector<StagePass>& passes : schedule.by_rank) peaks.push_back(peak_of(passes));
  return peaks;
}

std::vector<std::string> check_bounds(const PipelineSchedule& schedule,
                                      const ScheduleBounds& bounds) {
  std::vector<std::string> complaints;
  const std::vector<int> peaks = peak_activations(schedule);
  const ScheduleTimeline timeline = timeline_of(schedule);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    if (peaks[rank] > bounds.most_activations[rank])
      complaints.push_back(fmt::format("Rank {} stores {} activations at once; the bound is {}.",
                                       rank, peaks[rank], bounds.most_activations[rank]));
    const std::int64_t idle = timeline.idle_units(static_cast<int>(rank));
    if (idle != bounds.idle_units || timeline.length != bounds.total_units)
      complaints.push_back(
          fmt::format("Rank {} is idle for {} of {} units of time; by the formula, {} of {}.", rank,
                      idle, timeline.length, bounds.idle_units, bounds.total_units));
  }
  return complaints;
}

}  // namespace gang::harness
