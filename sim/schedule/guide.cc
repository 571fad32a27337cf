#include "sim/schedule/guide.h"

#include <algorithm>

#include "gang/hash.h"
#include "sim/schedule/replay_scheduler.h"

namespace gang::sim {
namespace {

constexpr StepKey rank_key = 0x72616e6b;
constexpr StepKey end_key = 0x656e64;

// Of a log: some hundred MiB.
constexpr std::size_t most_marks = 4'000'000;
constexpr std::size_t most_contexts_of_choices = 16'000'000;

class GuidedScheduler final : public Scheduler {
 public:
  explicit GuidedScheduler(std::shared_ptr<Guide> guide) noexcept : guide_(std::move(guide)) {}

  void begin_run(int world_size) override { guide_->begin_run(world_size); }
  TaskId next_rank(const RunnableSet& runnable, TaskId current) override {
    return guide_->choose(runnable, current);
  }
  std::uint64_t next_u64() override { return draws_ = splitmix64(draws_, 0); }
  SwitchPoints switch_points() const noexcept override { return SwitchPoints::calls_and_looks; }

 private:
  std::shared_ptr<Guide> guide_;
  std::uint64_t draws_ = 0;
};

}  // namespace

void Guide::begin(Beginning beginning, const AnyReceives& known) {
  beginning_ = std::move(beginning);
  known_ = &known;
}

void Guide::begin_run(int world_size) {
  log_.clear();
  for (TaskId id = 0; id < static_cast<TaskId>(world_size); ++id)
    log_.contexts.push_back(splitmix64(rank_key, id));
  log_.names.resize(log_.contexts.size());
  made_.clear();
  posted_.clear();
  wanted_.clear();
  held_.clear();
  made_choices_ = step_accesses_ = 0;
  rests_ = true;
  is_cut_ = has_diverged_ = is_full_ = false;
}

TaskId Guide::choose(const RunnableSet& runnable, TaskId current) {
  end_step();
  enabled_.clear();
  std::vector<TaskId> all;
  TaskId id = runnable.first();
  for (std::size_t left = runnable.size(); left > 0; --left, id = runnable.next_after(id)) {
    all.push_back(id);
    if (!waits_for_mutex(id)) enabled_.push_back(id);
  }
  if (enabled_.empty()) enabled_ = std::move(all);
  const TaskId chosen = made_choices_ < beginning_.choices.size() ? beginning_choice()
                                                                  : next_awake(enabled_, current);
  if (chosen == no_task)
    throw ScheduleDivergence(is_cut_ ? "what could follow has been seen"
                                     : "the program does not repeat what it did before");
  watch(chosen);
  note_choice(chosen);
  ++made_choices_;
  return chosen;
}

void Guide::note_choice(TaskId chosen) {
  if (log_.choices.size() * log_.contexts.size() > most_contexts_of_choices) give_up_noting();
  if (is_full_) return;
  StepChoice& choice = log_.choices.emplace_back();
  for (const TaskId task : enabled_) choice.enabled.push_back(log_.contexts[task]);
  choice.chosen = log_.contexts[chosen];
  mark(StepMark::Kind::step, log_.choices.size() - 1);
  step_accesses_ = log_.accesses.size();
}

void Guide::give_up_noting() noexcept {
  is_full_ = true;
  log_.marks = {};
  log_.accesses = {};
  log_.choices = {};
  log_.taken = {};
}

void Guide::watch(TaskId chosen) {
  current_ = chosen;
  rests_ = false;
  wanted_.erase(chosen);
}

TaskId Guide::beginning_choice() {
  const StepKey wanted = beginning_.choices[made_choices_];
  for (const TaskId task : enabled_)
    if (log_.contexts[task] == wanted) return task;
  has_diverged_ = true;
  return no_task;
}

TaskId Guide::next_awake(const std::vector<TaskId>& enabled, TaskId current) {
  TaskId first = no_task, after = no_task;
  for (const TaskId task : enabled) {
    if (is_asleep(log_.contexts[task])) continue;
    if (task == current) return task;
    if (first == no_task) first = task;
    if (after == no_task && task > current) after = task;
  }
  if (first == no_task) is_cut_ = true;
  return current < log_.contexts.size() && after != no_task ? after : first;
}

void Guide::end_step() {
  if (beginning_.sleeping.empty() || made_choices_ < beginning_.choices.size() || is_full_) return;
  const std::vector<Access> done(
      log_.accesses.begin() + static_cast<std::ptrdiff_t>(step_accesses_), log_.accesses.end());
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

bool Guide::waits_for_mutex(TaskId task) const {
  const auto wanted = wanted_.find(task);
  if (wanted == wanted_.end()) return false;
  const auto held = held_.find(wanted->second);
  return held != held_.end() && held->second;
}

void Guide::mark(StepMark::Kind kind, std::uint64_t value) {
  if (rests_ || is_full_) return;
  log_.marks.push_back({kind, current_, value});
  if (log_.marks.size() > most_marks) give_up_noting();
}

void Guide::rests() {
  if (rests_) return;
  mark(StepMark::Kind::rest, 0);
  rests_ = true;
}

void Guide::started(TaskId child, std::string name) {
  const StepKey parent = rests_ ? rank_key : log_.contexts[current_];
  if (log_.contexts.size() <= child) log_.contexts.resize(child + 1);
  log_.contexts[child] = splitmix64(parent, ++made_[parent]);
  log_.names.resize(log_.contexts.size());
  log_.names[child] = std::move(name);
  mark(StepMark::Kind::start, child);
}

void Guide::access(const Access& access) {
  if (rests_ || is_full_) return;
  log_.accesses.push_back(access);
  mark(StepMark::Kind::access, log_.accesses.size() - 1);
}

StepKey Guide::new_object() {
  const StepKey owner = rests_ ? rank_key : log_.contexts[current_];
  return splitmix64(owner, ++made_[owner]);
}

StepKey Guide::end_of(TaskId task) const { return splitmix64(log_.contexts[task], end_key); }

StepKey Guide::posted(const void* address) {
  const StepKey key = new_object();
  posted_[address] = key;
  publish(key);
  return key;
}

StepKey Guide::posted_at(const void* address) const {
  const auto found = posted_.find(address);
  return found == posted_.end() ? 0 : found->second;
}

void Guide::took(StepKey mutex) {
  held_[mutex] = true;
  wanted_.erase(current_);
}

std::unique_ptr<Scheduler> make_guided_scheduler(std::shared_ptr<Guide> guide) {
  return std::make_unique<GuidedScheduler>(std::move(guide));
}

}  // namespace gang::sim
