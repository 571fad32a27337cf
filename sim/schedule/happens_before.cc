#include "sim/schedule/happens_before.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace gang::sim {
namespace {

constexpr std::size_t most_clock_entries = 50'000'000;

void join_into(std::span<std::uint32_t> clock, std::span<const std::uint32_t> other) {
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

// What further elements hold is not said. Memory of earlier logs is used again.
void make_room(std::vector<std::uint32_t>& clocks, std::size_t size) {
  if (clocks.size() < size) clocks.resize(2 * size);
}

std::size_t index_of(AccessMode mode) noexcept { return static_cast<std::size_t>(mode); }

}  // namespace

bool HappensBefore::fits(const StepLog& log) noexcept {
  return log.choices.size() * log.contexts.size() <= most_clock_entries;
}

void HappensBefore::read(const StepLog& log, const AnyReceives& known) {
  contexts_ = log.contexts.size();
  context_of_.clear();
  clocks_.clear();
  races_.clear();
  contested_.read(log, known);
  if (contested_.size() == 0) return;
  begin(log);
  for (const StepMark& mark : log.marks) {
    take(mark, log);
    if (mark.kind == StepMark::Kind::access && mark.value == contested_.last_access()) break;
  }
  end_step();
}

void HappensBefore::begin(const StepLog& log) {
  clocks_.reserve(log.choices.size() * contexts_);
  now_.assign(contexts_ * contexts_, 0);
  published_.clear();
  carried_.assign(contexts_, 0);
  if (histories_.size() < contested_.size()) histories_.resize(contested_.size());
  for (ObjectHistory& history : std::span(histories_).first(contested_.size())) {
    history.accesses.clear();
    history.has = {};
  }
  make_room(history_clocks_, contested_.size() * access_modes * contexts_);
  is_in_step_ = false;
}

void HappensBefore::take(const StepMark& mark, const StepLog& log) {
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
      has_accessed_ = true;
      has_learned_ = false;
      return access(clock, static_cast<std::uint32_t>(mark.value), log);
    case StepMark::Kind::publish:
      return join_into(published(mark.value), clock);
    case StepMark::Kind::join:
      // What a step learns after its accesses, as an operation that completes at once, is known to
      // what follows, but was not needed for them.
      if (is_in_step_ && has_accessed_ && !std::exchange(has_learned_, true))
        clock_of_accesses_.assign(clock.begin(), clock.end());
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
  const Clock clock = has_learned_ ? Clock(clock_of_accesses_) : row(now_, context_of_.back());
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
  for (std::size_t other = 0; other < access_modes; ++other)
    if (has[other] && conflict(mode, static_cast<AccessMode>(other))) return true;
  return false;
}

void HappensBefore::access(Clock clock, std::uint32_t index, const StepLog& log) {
  const AccessMode mode = log.accesses[index].mode;
  const AccessInStep now{static_cast<std::uint32_t>(context_of_.size() - 1), index, mode};
  const std::span<const std::uint32_t> objects = contested_.of_access(index);
  if (objects.empty()) return;
  find_races(clock, now, objects);
  for (const std::uint32_t object : objects)
    for (std::size_t other = 0; other < access_modes; ++other)
      if (histories_[object].has[other] && conflict(mode, static_cast<AccessMode>(other)))
        join_into(clock, row(history_clocks_, object * access_modes + other));
  for (const std::uint32_t object : objects) {
    ObjectHistory& history = histories_[object];
    if (mode == AccessMode::write) {
      history.accesses.clear();
      history.has = {};
    }
    history.accesses.push_back(now);
    const Clock of_mode = row(history_clocks_, object * access_modes + index_of(mode));
    if (!std::exchange(history.has[index_of(mode)], true)) std::ranges::fill(of_mode, 0);
    join_into(of_mode, clock);
  }
}

// From the latest step back: what comes before a step that is found does not race itself.
void HappensBefore::find_races(Clock clock, const AccessInStep& now,
                               std::span<const std::uint32_t> objects) {
  earlier_.clear();
  for (const std::uint32_t object : objects) {
    if (!histories_[object].conflicts(now.mode)) continue;
    for (const AccessInStep& access : histories_[object].accesses)
      if (access.step != now.step && conflict(access.mode, now.mode) &&
          clock[context_of_[access.step]] <= access.step)
        earlier_.push_back(access);
  }
  if (earlier_.empty()) return;
  if (earlier_.size() > 1)
    std::ranges::stable_sort(earlier_, std::ranges::greater(), &AccessInStep::step);
  before_.assign(clock.begin(), clock.end());
  for (const AccessInStep& access : earlier_) {
    if (before_[context_of_[access.step]] > access.step) continue;
    races_.push_back({access.step, now.step, access.access, now.access});
    join_into(before_, row(clocks_, access.step));
  }
}

}  // namespace gang::sim
