#include "sim/schedule/detours.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule/context_name.h"
#include "sim/schedule/known_contests.h"

namespace gang::sim {
namespace {

struct StepName {
  AccessKind kind;
  std::string_view name;
};

// Of what a step has done, what names it: the first of these.
constexpr StepName naming[] = {
    {AccessKind::message, "send"},   {AccessKind::lock, "lock"},
    {AccessKind::try_lock, "lock"},  {AccessKind::unlock, "lock"},
    {AccessKind::wait, "condition"}, {AccessKind::notification, "condition"},
    {AccessKind::look, "test"},      {AccessKind::key, "store"},
    {AccessKind::presence, "store"}, {AccessKind::call, "call"},
    {AccessKind::arrival, "call"}};

// "rank 1", "'loader' of rank 0"; of several of one name: "'loader' 2 of rank 0".
std::string name_of_context(const StepLog& log, TaskId task) {
  const ContextName name = context_name(log, task);
  if (name.name.empty()) return fmt::format("rank {}", name.rank);
  return name.number == 1 ? fmt::format("'{}' of rank {}", name.name, name.rank)
                          : fmt::format("'{}' {} of rank {}", name.name, name.number, name.rank);
}

// Names the steps of a run, as they come.
class StepNames {
 public:
  explicit StepNames(const StepLog& log) : log_(log) {}

  const std::string& context(TaskId task) {
    while (contexts_.size() <= task)
      contexts_.push_back(name_of_context(log_, static_cast<TaskId>(contexts_.size())));
    return contexts_[task];
  }

  StepLabel step(TaskId task, std::span<const Access> accesses) {
    StepLabel label{.context = context(task), .did = "step"};
    for (const StepName& step_name : naming) {
      const auto access = std::ranges::find(accesses, step_name.kind, &Access::kind);
      if (access == accesses.end()) continue;
      label.did = step_name.name;
      if (access->site.line() != 0) label.place = gang::to_string(access->site);
      break;
    }
    label.number = ++numbers_[{task, label.did}];
    return label;
  }

 private:
  const StepLog& log_;
  std::vector<std::string> contexts_;
  std::map<std::pair<TaskId, std::string>, std::uint64_t> numbers_;
};

// Of a pick, from 0.
std::string name_of_way(std::size_t way) { return fmt::format("ready kernel {}", way + 1); }

class NamedDetours final : public DetourSampler {
 public:
  NamedDetours(std::vector<Detour> detours, const StepLog& log)
      : left_(std::move(detours)), names_(log) {}

  TaskId choose(ContextBits enabled) override {
    const auto detour = std::ranges::find(left_, last_, &Detour::after);
    if (detour != left_.end()) {
      const auto taken = std::ranges::find_if(
          enabled, [&](TaskId task) { return names_.context(task) == detour->take; });
      if (taken != enabled.end()) {
        left_.erase(detour);
        return *taken;
      }
    }
    return enabled.next_in_order(current_);
  }

  std::size_t pick(std::size_t ways) override {
    const auto detour = std::ranges::find(left_, last_, &Detour::after);
    for (std::size_t way = 1; way < ways && detour != left_.end(); ++way)
      if (detour->take == name_of_way(way)) {
        left_.erase(detour);
        return way;
      }
    return 0;
  }

  void note_step(const SampledStep& step) override {
    current_ = step.task;
    if (!left_.empty()) last_ = names_.step(step.task, step.accesses);
  }

  const std::vector<Detour>& left() const noexcept override { return left_; }

 private:
  std::vector<Detour> left_;
  StepNames names_;
  StepLabel last_;
  TaskId current_ = no_task;
};

}  // namespace

std::string to_string(const Detour& detour) {
  const StepLabel& after = detour.after;
  if (after.context.empty()) return fmt::format("{} runs first", detour.take);
  const std::string place = after.place.empty() ? "" : fmt::format(" ({})", after.place);
  return fmt::format("after {} {} of {}{}, {} runs", after.did, after.number, after.context, place,
                     detour.take);
}

std::vector<Detour> detours_of(const StepLog& log) {
  std::vector<Detour> detours;
  StepNames names(log);
  StepLabel last;
  TaskId current = no_task;
  for (std::size_t step = 0; step < log.choices.size(); ++step) {
    const StepChoice& made = log.choices[step];
    const TaskId task = made.task;
    if (made.is_pick) {
      const std::span<const Access> ways = log.ways_at(made);
      const auto way = std::ranges::find(ways, made.chosen, &Access::object) - ways.begin();
      if (way != 0) detours.push_back({last, name_of_way(static_cast<std::size_t>(way))});
    } else if (log.enabled_at(made).next_in_order(current) != task) {
      detours.push_back({last, names.context(task)});
    }
    last = names.step(task, log.accesses_of(step));
    current = task;
  }
  return detours;
}

std::unique_ptr<DetourSampler> make_detour_sampler(std::vector<Detour> detours,
                                                   const StepLog& log) {
  return std::make_unique<NamedDetours>(std::move(detours), log);
}

}  // namespace gang::sim
