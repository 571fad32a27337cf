#include "harness/pipeline/schedule_timeline.h"

#include <algorithm>

namespace gang::harness {
namespace {

constexpr std::int64_t not_yet = -1;

class Timing {
 public:
  explicit Timing(const PipelineSchedule& schedule)
      : schedule_(schedule), ends_(pass_count(schedule.sizes), not_yet) {
    timeline_.by_rank.resize(schedule.by_rank.size());
  }

  ScheduleTimeline run() {
    for (bool went_on = true; went_on;) {
      went_on = false;
      for (std::size_t rank = 0; rank < schedule_.by_rank.size(); ++rank)
        while (run_next(rank)) went_on = true;
    }
    note_stuck();
    return std::move(timeline_);
  }

 private:
  std::int64_t end_of(const StagePass& pass) const {
    return ends_[index_of(pass, schedule_.sizes)];
  }

  // When the inputs of `pass` are ready.
  std::int64_t ready_at(const StagePass& pass) const {
    const auto on_stage = [&pass](int stage, Pass kind) {
      return StagePass{stage, pass.microbatch, kind};
    };
    if (pass.pass == Pass::forward)
      return pass.stage == 0 ? 0 : end_of(on_stage(pass.stage - 1, Pass::forward));
    if (pass.pass == Pass::backward_weight)
      return end_of(on_stage(pass.stage, Pass::backward_input));
    const std::int64_t activation = end_of(on_stage(pass.stage, Pass::forward));
    if (activation == not_yet || pass.stage == schedule_.sizes.stages() - 1) return activation;
    const std::int64_t gradient = std::max(end_of(on_stage(pass.stage + 1, Pass::backward)),
                                           end_of(on_stage(pass.stage + 1, Pass::backward_input)));
    return gradient == not_yet ? not_yet : std::max(activation, gradient);
  }

  bool run_next(std::size_t rank) {
    std::vector<TimedPass>& timed = timeline_.by_rank[rank];
    if (timed.size() == schedule_.by_rank[rank].size()) return false;
    const StagePass& pass = schedule_.by_rank[rank][timed.size()];
    const std::int64_t ready = ready_at(pass);
    if (ready == not_yet) return false;
    const std::int64_t start = timed.empty() ? ready : std::max(ready, timed.back().end);
    const std::int64_t end = start + duration_of(pass.pass);
    timed.push_back({pass, start, end});
    ends_[index_of(pass, schedule_.sizes)] = end;
    timeline_.length = std::max(timeline_.length, end);
    return true;
  }

  void note_stuck() {
    bool is_stuck = false;
    for (std::size_t rank = 0; rank < schedule_.by_rank.size(); ++rank) {
      const std::size_t next = timeline_.by_rank[rank].size();
      const bool is_through = next == schedule_.by_rank[rank].size();
      is_stuck = is_stuck || !is_through;
      timeline_.stuck.push_back(is_through ? "" : to_string(schedule_.by_rank[rank][next]));
    }
    if (!is_stuck) timeline_.stuck.clear();
  }

  const PipelineSchedule& schedule_;
  std::vector<std::int64_t> ends_;  // by index_of
  ScheduleTimeline timeline_;
};

}  // namespace

std::int64_t ScheduleTimeline::idle_units(int rank) const {
  std::int64_t busy = 0;
  for (const TimedPass& timed : by_rank[static_cast<std::size_t>(rank)])
    busy += timed.end - timed.start;
  return length - busy;
}

double ScheduleTimeline::bubble_fraction() const {
  std::int64_t idle = 0;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    idle += idle_units(static_cast<int>(rank));
  const std::int64_t all = length * static_cast<std::int64_t>(by_rank.size());
  return all == 0 ? 0.0 : static_cast<double>(idle) / static_cast<double>(all);
}

ScheduleTimeline timeline_of(const PipelineSchedule& schedule) { return Timing(schedule).run(); }

}  // namespace gang::harness
