#include "harness/recording/recorded_steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace gang::harness {
namespace {

using Action = RecordedStep::Action;

// The steps of one rank.
class Steps {
 public:
  Steps(const Recording& recording, const OpenCalls& open, std::size_t rank)
      : recording_(recording),
        calls_(recording.ranks[rank].calls),
        first_record_(recording.ranks[rank].first_record),
        is_open_(open.is_open[rank]),
        is_left_out_(open.is_left_out[rank]),
        untold_(open.untold_of_rank[rank]) {
    using Untold = OpenCalls::Untold;
    std::ranges::stable_sort(untold_, [](const Untold& one, const Untold& other) {
      return std::tie(one.time, one.place) < std::tie(other.time, other.place);
    });
    const auto first = std::ranges::find(is_open_, true);
    first_open_ = static_cast<std::size_t>(first - is_open_.begin());
  }

  std::vector<RecordedStep> run() {
    std::size_t told = 0;
    for (std::size_t place = 0; place < calls_.size();) {
      for (; told < untold_.size() && untold_[told].time < calls_[place].created_ns; ++told)
        add(untold_[told]);
      end_waits(place);
      std::size_t end = place + 1;
      while (end < calls_.size() && are_of_one_batch(calls_[end - 1], calls_[end])) ++end;
      add_call(place, end);
      place = end;
    }
    for (; told < untold_.size(); ++told) add(untold_[told]);
    end_waits(calls_.size());
    end_messages();
    for (const bool is_open : {true, false})  // What has ended holds nobody up.
      for (const auto& [work, was_open] : at_end_)
        if (was_open == is_open) wait(work);
    return std::move(steps_);
  }

 private:
  // A program has its gangs from the beginning on.
  bool makes_gang(std::uint32_t call) const {
    const OperationKind kind = recording_.calls[call].kind;
    return kind == OperationKind::create_gang || kind == OperationKind::split;
  }

  void add(const OpenCalls::Untold& untold) {
    if (makes_gang(untold.call)) return;
    end_messages();
    steps_.push_back({.group = untold.group, .call = untold.call});
  }

  void add_call(std::size_t place, std::size_t end) {
    RecordedStep step{.group = calls_[place].group, .call = calls_[place].call};
    std::size_t kept = 0;
    bool is_open = false;
    for (std::size_t i = place; i < end; ++i) {
      if (is_left_out_[i]) continue;
      if (kept++ == 0) step.call = calls_[i].call;
      step.batch.push_back(calls_[i].call);
      is_open = is_open || is_open_[i];
    }
    if (kept == 0 || (!is_open && makes_gang(step.call))) return;
    if (kept == 1) step.batch.clear();
    const RankCall& call = calls_[place];
    if (!call.is_message) end_messages();
    if (call.has_waits) {
      add_as_told(step, call);
    } else if (place >= first_open_) {
      at_end_.emplace_back(start(step), is_open);
    } else if (call.is_message) {
      messages_.push_back(start(step));
    } else {
      steps_.push_back(std::move(step));
    }
  }

  void add_as_told(RecordedStep& step, const RankCall& call) {
    if (recording_.calls[step.call].blocking) {
      steps_.push_back(std::move(step));
    } else if (!call.waited) {
      step.action = Action::start;
      steps_.push_back(std::move(step));
    } else {
      const std::uint64_t at = *call.waited - std::min(*call.waited, first_record_);
      waits_[at].push_back(start(step));
    }
  }

  std::uint32_t start(RecordedStep& step) {
    const auto free = std::ranges::find(is_taken_, false);
    step.action = Action::start;
    step.work = static_cast<std::uint32_t>(free - is_taken_.begin()) + 1;
    if (free == is_taken_.end())
      is_taken_.push_back(true);
    else
      *free = true;
    steps_.push_back(step);
    return step.work;
  }

  void wait(std::uint32_t work) {
    steps_.push_back({.action = Action::wait, .work = work});
    is_taken_[work - 1] = false;
  }

  void end_messages() {
    for (const std::uint32_t work : std::exchange(messages_, {})) wait(work);
  }

  // Those that were begun before the call at `place`.
  void end_waits(std::size_t place) {
    while (!waits_.empty() && waits_.begin()->first <= place) {
      for (const std::uint32_t work : waits_.begin()->second) wait(work);
      waits_.erase(waits_.begin());
    }
  }

  const Recording& recording_;
  const std::vector<RankCall>& calls_;
  const std::uint64_t first_record_;
  const std::vector<bool>& is_open_;
  const std::vector<bool>& is_left_out_;
  std::vector<OpenCalls::Untold> untold_;
  std::size_t first_open_ = 0;
  std::vector<RecordedStep> steps_;
  std::vector<bool> is_taken_;                                 // by work
  std::vector<std::uint32_t> messages_;                        // works to wait for together
  std::map<std::uint64_t, std::vector<std::uint32_t>> waits_;  // by the place they come before
  std::vector<std::pair<std::uint32_t, bool>> at_end_;         // works; whether they are open
};

}  // namespace

std::vector<std::vector<RecordedStep>> steps_of(const Recording& recording, const OpenCalls& open) {
  std::vector<std::vector<RecordedStep>> steps;
  for (std::size_t rank = 0; rank < recording.ranks.size(); ++rank)
    steps.push_back(Steps(recording, open, rank).run());
  return steps;
}

bool is_stream_ordered(const Recording& recording, const OpenCalls& open) {
  bool has_calls = false;
  for (std::size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    const std::vector<RankCall>& calls = recording.ranks[rank].calls;
    bool is_behind = false;
    for (std::size_t place = 0; place < calls.size(); ++place) {
      if (!calls[place].is_in_stream || (is_behind && !open.is_open[rank][place])) return false;
      is_behind = is_behind || open.is_open[rank][place];
      has_calls = true;
    }
  }
  return has_calls;
}

}  // namespace gang::harness
