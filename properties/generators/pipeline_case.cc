#include "properties/generators/pipeline_case.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace gang::properties {
namespace {

using harness::Pass;
using harness::PipelineSchedule;
using harness::PipelineSizes;
using harness::StagePass;

// Takes passes that are ready, each at random, until all are taken.
class RandomOrder {
 public:
  RandomOrder(Draw& draw, const PipelineSizes& sizes)
      : draw_(draw), schedule_{.sizes = sizes, .by_rank = {}} {
    schedule_.by_rank.resize(static_cast<std::size_t>(sizes.ranks));
    for (int m = 0; m < sizes.microbatches; ++m) ready_.push_back({0, m, Pass::forward});
  }

  PipelineSchedule take() {
    while (!ready_.empty()) {
      const auto chosen = static_cast<std::size_t>(draw_.random.below(ready_.size()));
      const StagePass pass = ready_[chosen];
      ready_[chosen] = ready_.back();
      ready_.pop_back();
      schedule_.by_rank[static_cast<std::size_t>(schedule_.sizes.rank_of(pass.stage))].push_back(
          pass);
      add_next(pass);
    }
    return std::move(schedule_);
  }

 private:
  void add_next(const StagePass& pass) {
    if (pass.pass == Pass::forward) {
      if (pass.stage < schedule_.sizes.stages() - 1)
        ready_.push_back({pass.stage + 1, pass.microbatch, Pass::forward});
      else
        add_backward(pass.stage, pass.microbatch);
    } else if (pass.pass != Pass::backward_weight) {
      if (pass.pass == Pass::backward_input)
        ready_.push_back({pass.stage, pass.microbatch, Pass::backward_weight});
      if (pass.stage > 0) add_backward(pass.stage - 1, pass.microbatch);
    }
  }

  void add_backward(int stage, int microbatch) {
    const Pass pass = draw_.one_in(3) ? Pass::backward_input : Pass::backward;
    ready_.push_back({stage, microbatch, pass});
  }

  Draw& draw_;
  PipelineSchedule schedule_;
  std::vector<StagePass> ready_;
};

PipelineSchedule only(const PipelineSchedule& schedule, const PipelineSizes& sizes) {
  PipelineSchedule part{.sizes = sizes, .by_rank = {}};
  for (const auto& passes : schedule.by_rank) {
    part.by_rank.emplace_back();
    for (const StagePass& pass : passes)
      if (pass.stage < sizes.stages() && pass.microbatch < sizes.microbatches)
        part.by_rank.back().push_back(pass);
  }
  return part;
}

std::string lines_of(const PipelineSchedule& schedule) {
  std::string text;
  for (std::size_t rank = 0; rank < schedule.by_rank.size(); ++rank) {
    text += fmt::format("\n  rank {}:", rank);
    for (const StagePass& pass : schedule.by_rank[rank]) text += " " + to_string(pass);
  }
  return text;
}

PipelineSizes random_sizes(Draw& draw) {
  const int most = 1 + draw.size / 25;
  return {.ranks = draw.between(1, std::min(most, draw.max_world)),
          .stages_per_rank = draw.between(1, std::min(3, most)),
          .microbatches = draw.between(1, most)};
}

// Moves the pass at `from` to before the one at `to`.
void move_pass(std::vector<StagePass>& passes, std::size_t from, std::size_t to) {
  const StagePass pass = passes[from];
  passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(from));
  passes.insert(passes.begin() + static_cast<std::ptrdiff_t>(to), pass);
}

}  // namespace

RandomSchedule generate_schedule(Draw& draw) {
  const PipelineSizes sizes = random_sizes(draw);
  return {RandomOrder(draw, sizes).take()};
}

std::string to_text(const RandomSchedule& one) {
  return to_string(one.schedule.sizes) + lines_of(one.schedule);
}

std::vector<RandomSchedule> shrinks(const RandomSchedule& one) {
  std::vector<RandomSchedule> simpler;
  PipelineSizes fewer = one.schedule.sizes;
  --fewer.microbatches;
  if (fewer.microbatches > 0) simpler.push_back({only(one.schedule, fewer)});
  PipelineSizes shorter = one.schedule.sizes;
  --shorter.stages_per_rank;
  // What is left does not need the passes that go: every microbatch still goes forward first.
  if (shorter.stages_per_rank > 0) simpler.push_back({only(one.schedule, shorter)});
  return simpler;
}

std::vector<StockSchedule> all_stock_schedules(int max_ranks) {
  std::vector<StockSchedule> all;
  for (const harness::ScheduleKind kind : harness::all_schedule_kinds) {
    const bool interleaves = kind == harness::ScheduleKind::interleaved_1f1b;
    for (int ranks = 1; ranks <= max_ranks; ++ranks)
      for (int per_rank = 1; per_rank <= (interleaves ? 4 : 1); ++per_rank)
        for (int m = ranks; m <= 4 * ranks; m += interleaves ? ranks : 1)
          all.push_back({kind, {ranks, per_rank, m}});
  }
  return all;
}

std::string to_text(const StockSchedule& stock) {
  return fmt::format("{}, {}", to_string(stock.kind), to_string(stock.sizes));
}

// The space is enumerated from the smallest sizes up.
std::vector<StockSchedule> shrinks(const StockSchedule&) { return {}; }

SpoiltSchedule generate_spoilt_schedule(Draw& draw) {
  SpoiltSchedule spoilt{.schedule = RandomOrder(draw, random_sizes(draw)).take(), .mistake = ""};
  auto& by_rank = spoilt.schedule.by_rank;
  const auto rank = static_cast<std::size_t>(draw.random.below(by_rank.size()));
  auto& passes = by_rank[rank];
  const auto place = static_cast<std::size_t>(draw.random.below(passes.size()));
  const StagePass pass = passes[place];
  switch (draw.between(0, 3)) {
    case 0:
      spoilt.mistake = to_string(pass) + " is missing";
      passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(place));
      break;
    case 1:
      spoilt.mistake = to_string(pass) + " is computed twice";
      passes.push_back(pass);
      break;
    case 2:
      spoilt.mistake = to_string(pass) + " is on another rank";
      passes.erase(passes.begin() + static_cast<std::ptrdiff_t>(place));
      if (by_rank.size() > 1) by_rank[(rank + 1) % by_rank.size()].push_back(pass);
      break;
    default: {
      // The first pass of a backward pair goes before the forward pass of its stage.
      const auto backward = static_cast<std::size_t>(
          std::ranges::find_if(passes,
                               [](const StagePass& one) { return one.pass != Pass::forward; }) -
          passes.begin());
      const StagePass forward{passes[backward].stage, passes[backward].microbatch, Pass::forward};
      const auto before =
          static_cast<std::size_t>(std::ranges::find(passes, forward) - passes.begin());
      spoilt.mistake = to_string(passes[backward]) + " comes before " + to_string(forward);
      move_pass(passes, backward, before);
    }
  }
  return spoilt;
}

std::string to_text(const SpoiltSchedule& spoilt) {
  return fmt::format("{}: {}{}", to_string(spoilt.schedule.sizes), spoilt.mistake,
                     lines_of(spoilt.schedule));
}

// Leaving anything out would be a second mistake.
std::vector<SpoiltSchedule> shrinks(const SpoiltSchedule&) { return {}; }

}  // namespace gang::properties
