#include "sim/schedule/guide.h"

#include <algorithm>

#include "gang/hash.h"
#include "gang/recycled.h"
#include "sim/schedule/replay_scheduler.h"

namespace gang::sim {
namespace {

// Takes a context out of a set of ContextBits.
void clear(std::span<std::uint64_t> words, TaskId task) noexcept {
  words[task / 64] &= ~(std::uint64_t{1} << (task % 64));
}

class GuidedScheduler final : public Scheduler, public Recycled<GuidedScheduler> {
 public:
  explicit GuidedScheduler(Guide& guide) noexcept : guide_(guide) {}

  void begin_run(int world_size) override { guide_.begin_run(world_size); }
  TaskId next_rank(const RunnableSet& runnable, TaskId current) override {
    return guide_.choose(runnable, current);
  }
  std::uint64_t next_u64() override { return draws_ = splitmix64(draws_, 0); }
  SwitchPoints switch_points() const noexcept override { return SwitchPoints::calls_and_tries; }

 private:
  Guide& guide_;
  std::uint64_t draws_ = 0;
};

}  // namespace

void Guide::begin(Beginning&& beginning, const Knowledge& known) {
  std::swap(beginning_, beginning);
  sampler_.reset();
  known_ = &known;
}

void Guide::sample(std::unique_ptr<Sampler> sampler, const Knowledge& known) {
  begin(Beginning{}, known);
  sampler_ = std::move(sampler);
}

void Guide::begin_run(int world_size) {
  begin_log(world_size);
  wanted_.clear();
  held_.clear();
  made_choices_ = 0;
  is_cut_ = has_diverged_ = false;
}

void Guide::watch(TaskId chosen) {
  begin_step(chosen);
  if (!wanted_.empty()) wanted_.erase(chosen);
}

std::size_t Guide::pick(std::span<const Access> ways) {
  end_step();
  std::size_t chosen = 0;
  if (made_choices_ < beginning_.choices.size()) {
    const auto way = std::ranges::find(ways, beginning_.choices[made_choices_], &Access::object);
    has_diverged_ |= way == ways.end();
    if (way != ways.end()) chosen = static_cast<std::size_t>(way - ways.begin());
  } else if (sampler_ != nullptr) {
    chosen = sampler_->pick(ways.size());
  }
  note_pick(ways, chosen);
  ++made_choices_;
  return chosen;
}

[[gnu::always_inline]] inline TaskId Guide::next_awake(ContextBits enabled, TaskId current) {
  if (!beginning_.sleeping.empty()) {
    awake_.assign(enabled.words().begin(), enabled.words().end());
    enabled.for_each([this](TaskId task) {
      if (is_asleep(key_of(task))) clear(awake_, task);
    });
    enabled = ContextBits(awake_);
  }
  const TaskId next = enabled.next_in_order(current);
  is_cut_ = next == no_task;
  return next;
}

[[gnu::always_inline]] inline TaskId Guide::next_context(ContextBits enabled, TaskId current) {
  if (made_choices_ < beginning_.choices.size()) return beginning_choice(enabled);
  return sampler_ != nullptr ? sampler_->choose(enabled) : next_awake(enabled, current);
}

TaskId Guide::beginning_choice(ContextBits enabled) {
  const StepKey wanted = beginning_.choices[made_choices_];
  for (const TaskId task : enabled)
    if (key_of(task) == wanted) return task;
  has_diverged_ = true;
  return no_task;
}

TaskId Guide::choose(const RunnableSet& runnable, TaskId current) {
  if (runnable.contains(current) && goes_on(current)) return current;
  end_step();
  ContextBits enabled = runnable.bits();
  if (!wanted_.empty()) enabled = without_waiters_for_mutexes(enabled);
  const TaskId chosen = next_context(enabled, current);
  if (chosen == no_task)
    throw ScheduleDivergence(is_cut_ ? "what could follow has been seen"
                                     : "the program does not repeat what it did before");
  watch(chosen);
  note_choice(enabled);
  ++made_choices_;
  return chosen;
}

// The sampler, and those that sleep.
void Guide::tell_of_step() {
  if (sampler_ != nullptr && made_choices_ > 0)
    sampler_->note_step({current(), key_of(current()), accesses_of_step()});
  if (beginning_.sleeping.empty() || made_choices_ < beginning_.choices.size()) return;
  const std::span<const Access> done = accesses_of_step();
  if (done.empty()) return;
  std::erase_if(beginning_.sleeping, [&](const SleepingStep& sleeping) {
    return conflict(sleeping.accesses, done, *known_);
  });
}

bool Guide::is_asleep(StepKey context) const noexcept {
  return std::ranges::any_of(beginning_.sleeping, [context](const SleepingStep& sleeping) {
    return sleeping.context == context;
  });
}

// As they are if all wait.
ContextBits Guide::without_waiters_for_mutexes(ContextBits enabled) {
  const auto waits = [this](TaskId task) { return waits_for_mutex(task); };
  if (std::ranges::all_of(enabled, waits)) return enabled;
  free_.assign(enabled.words().begin(), enabled.words().end());
  for (const TaskId task : enabled)
    if (waits(task)) clear(free_, task);
  return ContextBits(free_);
}

bool Guide::waits_for_mutex(TaskId task) const {
  const auto wanted = wanted_.find(task);
  if (wanted == wanted_.end()) return false;
  const auto held = held_.find(wanted->second);
  return held != held_.end() && held->second;
}

void Guide::took(StepKey mutex) {
  held_[mutex] = true;
  wanted_.erase(current());
}

std::unique_ptr<Scheduler> make_guided_scheduler(Guide& guide) {
  return std::make_unique<GuidedScheduler>(guide);
}

}  // namespace gang::sim
