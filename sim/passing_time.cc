#include "sim/passing_time.h"

#include <algorithm>
#include <utility>

#include "sim/engine/engine.h"
#include "sim/injection/fault_injector.h"
#include "sim/matching/matching.h"
#include "sim/report/report.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

constexpr std::uint64_t most_naps = 4'000'000;
constexpr std::uint64_t least_naps_each = 10'000;
constexpr std::uint64_t most_naps_each = 1'000'000;

}  // namespace

std::optional<TimePoint> PassingTime::next_event() const {
  TimePoint next = world_.matching.deadlines().earliest_firm();
  if (faults_ != nullptr) next = std::min(next, faults_->next_event());
  const std::optional<TimePoint> wake_up = world_.engine.clock().events().next_time();
  if (next == TimePoint::max()) return wake_up;
  return std::min(wake_up.value_or(next), next);
}

std::optional<TimePoint> PassingTime::next_timeout(TimePoint limit) {
  Clock& clock = world_.engine.clock();
  if (clock.deadline_bound() >= limit) return std::nullopt;
  clock.set_deadline_bound(earliest_deadline());
  if (clock.deadline_bound() >= limit) return std::nullopt;
  return clock.deadline_bound();
}

TimePoint PassingTime::earliest_deadline() const {
  TimePoint earliest = world_.matching.deadlines().earliest();
  world_.engine.contexts().for_each([&earliest](const Task& task) {
    if (task.wait != nullptr) earliest = std::min(earliest, task.wait->deadline);
  });
  return earliest;
}

void PassingTime::advance_to(TimePoint time) {
  world_.engine.clock().advance_to(time);
  world_.engine.choices().note_time_passed();
  world_.engine.note_progress();
}

void PassingTime::reach_event(TimePoint time) {
  advance_to(time);
  bool has_happened = false;
  if (faults_ != nullptr && faults_->next_event() <= time) {
    faults_->act();
    has_happened = true;
  }
  if (const std::uint64_t now = activity(); now != activity_) {
    activity_ = now;
    naps_ = 0;
    next_check_ = most_naps_each;
  }
  EventQueue& events = world_.engine.clock().events();
  while (events.next_time() == time) {
    Task& task = events.pop();
    RareTaskState& rare = task.make_rare();
    if (std::exchange(rare.naps_at, activity_) != activity_) rare.naps = 0;
    ++rare.naps;
    ++naps_;
    world_.engine.wake(task);
    has_happened = true;
  }
  // Who comes at the time of a deadline is in time.
  if (has_happened) return;
  world_.engine.choices().note_guided_choice();
  world_.matching.deadlines().end_firm();
}

void PassingTime::reach_timeout(TimePoint time) {
  advance_to(time);
  world_.engine.choices().note_guided_choice();
  world_.engine.clock().note_timeouts(world_.engine.now());
  world_.matching.deadlines().time_out_operations();
  const TimePoint now = world_.engine.now();
  world_.engine.contexts().for_each([this, now](Task& task) {
    if (task.wait != nullptr && task.wait->deadline <= now) world_.engine.wake(task);
  });
  world_.engine.clock().set_deadline_bound(earliest_deadline());
}

void PassingTime::reach_trigger() {
  advance_to(faults_->next_trigger());
  faults_->act();
}

void PassingTime::pass(Duration step) {
  const TimePoint until = deadline_after(world_.engine.now(), step);
  if (const std::optional<TimePoint> timeout = next_timeout(until)) return reach_timeout(*timeout);
  world_.engine.clock().advance_to(until);
}

// What contexts do to each other, as far as it can be seen here.
std::uint64_t PassingTime::activity() const {
  const ContextTable& contexts = world_.engine.contexts();
  const Counts& counts = world_.counts;
  return 1 + counts.rank_operations + counts.completed_operations + counts.gangs +
         2 * contexts.size() - contexts.left();
}

bool PassingTime::is_slept_away() {
  if (naps_ < next_check_ || naps_ == 0 || activity() != activity_) return false;
  next_check_ += most_naps_each;
  if (faults_ != nullptr &&
      std::min(faults_->next_event(), faults_->next_trigger()) != TimePoint::max())
    return false;
  if (world_.matching.deadlines().earliest_firm() != TimePoint::max()) return false;
  std::uint64_t napping = 0;
  std::uint64_t fewest = most_naps_each;
  world_.engine.contexts().for_each([&](const Task& task) {
    if (task.wait == nullptr || task.rare().timer_serial != task.wait_serial) return;
    ++napping;
    fewest = std::min(fewest, task.rare().naps_at == activity_ ? task.rare().naps : 0);
  });
  return napping > 0 && fewest >= std::clamp(most_naps / napping, least_naps_each, most_naps_each);
}

}  // namespace gang::sim
