#include "sim/schedule/happens_before.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace gang::sim {
namespace {

constexpr std::size_t most_clock_entries = 50'000'000;
constexpr std::size_t modes = 4;
// With so few contexts, clocks cost no more than to see whether they are needed.
constexpr std::size_t most_without_looking = 16;

void join_into(std::span<std::uint32_t> clock, std::span<const std::uint32_t> other) {
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

// What further elements hold is not said. Memory of earlier logs is used again.
void make_room(std::vector<std::uint32_t>& clocks, std::size_t size) {
  if (clocks.size() < size) clocks.resize(2 * size);
}

std::size_t index_of(AccessMode mode) noexcept { return static_cast<std::size_t>(mode); }

}  // namespace

// Whether two contexts access some object in ways that do not commute.
bool HappensBefore::has_conflicts(const StepLog& log, const AnyReceives& known) {
  objects_.clear();
  users_.clear();
  for (const StepMark& mark : log.marks) {
    if (mark.kind != StepMark::Kind::access) continue;
    const Access& access = log.accesses[mark.value];
    keys_.clear();
    add_objects(access, known, keys_);
    for (const StepKey key : keys_) {
      const std::uint32_t number = objects_.number_of(key);
      if (number == users_.size())
        users_.push_back({.first = {no_task, no_task, no_task, no_task}});
      ObjectUsers& users = users_[number];
      for (std::size_t mode = 0; mode < modes; ++mode) {
        const bool has_another = users.has_others[mode] ||
                                 (users.first[mode] != no_task && users.first[mode] != mark.task);
        if (has_another && conflict(access.mode, static_cast<AccessMode>(mode))) return true;
      }
      TaskId& first = users.first[index_of(access.mode)];
      if (first == no_task) first = mark.task;
      users.has_others[index_of(access.mode)] |= first != mark.task;
    }
  }
  return false;
}

bool HappensBefore::fits(const StepLog& log) noexcept {
  return log.choices.size() * log.contexts.size() <= most_clock_entries;
}

void HappensBefore::read(const StepLog& log, const AnyReceives& known) {
  contexts_ = log.contexts.size();
  context_of_.clear();
  clocks_.clear();
  races_.clear();
  if (contexts_ > most_without_looking && !has_conflicts(log, known)) return;
  begin(log);
  for (const StepMark& mark : log.marks) take(mark, log, known);
  end_step();
}

void HappensBefore::begin(const StepLog& log) {
  clocks_.reserve(log.choices.size() * contexts_);
  now_.assign(contexts_ * contexts_, 0);
  published_.clear();
  carried_.assign(contexts_, 0);
  objects_.clear();
  is_in_step_ = false;
}

void HappensBefore::take(const StepMark& mark, const StepLog& log, const AnyReceives& known) {
  const Clock clock = row(now_, mark.task);
  switch (mark.kind) {
    case StepMark::Kind::step:
      end_step();
      context_of_.push_back(mark.task);
      clock[mark.task] = static_cast<std::uint32_t>(context_of_.size());
      is_in_step_ = true;
      has_accessed_ = has_learned_ = false;
      return;
    case StepMark::Kind::access:
      keys_.clear();
      add_objects(log.accesses[mark.value], known, keys_);
      has_accessed_ = true;
      has_learned_ = false;
      return access(clock, static_cast<std::uint32_t>(mark.value), log);
    case StepMark::Kind::publish:
      return join_into(published(mark.value), clock);
    case StepMark::Kind::join:
      // What a step learns after its accesses, as an operation that completes at once, is known to
      // what follows, but was not needed for them.
      if (is_in_step_ && has_accessed_ && !std::exchange(has_learned_, true))
        accessed_.assign(clock.begin(), clock.end());
      return join_published(mark.value, clock);
    case StepMark::Kind::carry:
      std::ranges::fill(carried_, 0);
      return join_published(mark.value, carried_);
    case StepMark::Kind::into:
      return join_into(published(mark.value), carried_);
    case StepMark::Kind::start:
      return join_into(row(now_, mark.value), clock);
    case StepMark::Kind::rest:
      end_step();
      for (std::size_t context = 0; context < contexts_; ++context)
        join_into(row(now_, 0), row(now_, context));
      for (std::size_t context = 1; context < contexts_; ++context)
        std::ranges::copy(row(now_, 0), row(now_, context).begin());
      return;
  }
}

void HappensBefore::end_step() {
  if (!is_in_step_) return;
  const Clock clock = has_learned_ ? Clock(accessed_) : row(now_, context_of_.back());
  clocks_.insert(clocks_.end(), clock.begin(), clock.end());
  is_in_step_ = false;
}

HappensBefore::Clock HappensBefore::published(StepKey object) {
  const std::uint32_t known = published_.size();
  const std::uint32_t number = published_.number_of(object);
  make_room(published_clocks_, published_.size() * contexts_);
  const Clock clock = row(published_clocks_, number);
  if (number == known) std::ranges::fill(clock, 0);
  return clock;
}

void HappensBefore::join_published(StepKey from, Clock into) {
  if (const std::uint32_t number = published_.find(from); number != KeyTable::none)
    join_into(into, row(published_clocks_, number));
}

bool HappensBefore::ObjectHistory::conflicts(AccessMode mode) const noexcept {
  for (std::size_t other = 0; other < modes; ++other)
    if (has[other] && conflict(mode, static_cast<AccessMode>(other))) return true;
  return false;
}

std::uint32_t HappensBefore::history_of(StepKey object) {
  const std::uint32_t known = objects_.size();
  const std::uint32_t number = objects_.number_of(object);
  if (number < known) return number;
  if (histories_.size() <= number) histories_.emplace_back();
  histories_[number].accesses.clear();
  histories_[number].has = {};
  make_room(history_clocks_, (number + 1) * modes * contexts_);
  return number;
}

void HappensBefore::access(Clock clock, std::uint32_t index, const StepLog& log) {
  const AccessMode mode = log.accesses[index].mode;
  const AccessInStep now{static_cast<std::uint32_t>(context_of_.size() - 1), index, mode};
  accessed_objects_.clear();
  for (const StepKey key : keys_) accessed_objects_.push_back(history_of(key));
  find_races(clock, now);
  for (const std::uint32_t object : accessed_objects_)
    for (std::size_t other = 0; other < modes; ++other)
      if (histories_[object].has[other] && conflict(mode, static_cast<AccessMode>(other)))
        join_into(clock, row(history_clocks_, object * modes + other));
  for (const std::uint32_t object : accessed_objects_) {
    ObjectHistory& history = histories_[object];
    if (mode == AccessMode::write) {
      history.accesses.clear();
      history.has = {};
    }
    history.accesses.push_back(now);
    const Clock of_mode = row(history_clocks_, object * modes + index_of(mode));
    if (!std::exchange(history.has[index_of(mode)], true)) std::ranges::fill(of_mode, 0);
    join_into(of_mode, clock);
  }
}

// From the latest step back: what comes before a step that is found does not race itself.
void HappensBefore::find_races(Clock clock, const AccessInStep& now) {
  earlier_.clear();
  for (const std::uint32_t object : accessed_objects_) {
    if (!histories_[object].conflicts(now.mode)) continue;
    for (const AccessInStep& access : histories_[object].accesses)
      if (access.step != now.step && conflict(access.mode, now.mode) &&
          clock[context_of_[access.step]] <= access.step)
        earlier_.push_back(access);
  }
  if (earlier_.empty()) return;
  std::ranges::stable_sort(earlier_, std::ranges::greater(), &AccessInStep::step);
  before_.assign(clock.begin(), clock.end());
  for (const AccessInStep& access : earlier_) {
    if (before_[context_of_[access.step]] > access.step) continue;
    races_.push_back({access.step, now.step, access.access, now.access});
    join_into(before_, row(clocks_, access.step));
  }
}

}  // namespace gang::sim
