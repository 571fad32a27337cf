#include "sim/schedule/happens_before.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace gang::sim {
namespace {

constexpr std::size_t most_clock_entries = 50'000'000;

// Clocks are joined four contexts at a time: none knows so many steps that the sign would matter.
constexpr std::size_t block = 4;
using Block [[gnu::vector_size(block * sizeof(std::int32_t))]] = std::int32_t;

Block block_of(const std::uint32_t* entries) noexcept {
  Block read;
  std::memcpy(&read, entries, sizeof(read));
  return read;
}

}  // namespace

inline void HappensBefore::join(const std::uint32_t* other, Clock into) const noexcept {
  for (std::size_t i = 0; i < width_; i += block) {
    const Block a = block_of(into + i);
    const Block b = block_of(other + i);
    const Block latest = a > b ? a : b;
    std::memcpy(into + i, &latest, sizeof(latest));
  }
}

inline void HappensBefore::copy(const std::uint32_t* from, Clock to) const noexcept {
  for (std::size_t i = 0; i < width_; i += block) std::memcpy(to + i, from + i, sizeof(Block));
}

inline void HappensBefore::clear(Clock clock) const noexcept {
  for (std::size_t i = 0; i < width_; i += block) std::memset(clock + i, 0, sizeof(Block));
}

inline void HappensBefore::make_room(Clocks& clocks, std::size_t rows) const {
  if (clocks.size() < rows * width_) clocks.resize(2 * rows * width_);
}

bool HappensBefore::fits(const StepLog& log) noexcept {
  return log.choices.size() * log.contexts.size() <= most_clock_entries;
}

void HappensBefore::read(const StepLog& log, const Knowledge& known) {
  races_.clear();
  contested_.read(log, known);
  if (contested_.steps() == 0) return;
  begin(log);
  left_ = contested_.uses();
  for (std::uint32_t step = 0; step < contested_.steps(); ++step) take_step(step, log, known);
}

void HappensBefore::begin(const StepLog& log) {
  const std::size_t contexts = log.contexts.size();
  width_ = (contexts + block - 1) / block * block;
  if (context_of_.size() < contested_.steps()) context_of_.resize(2 * contested_.steps());
  make_room(clocks_, contested_.steps());
  now_.assign(contexts * width_, 0);
  published_.clear();
  for (Clocks* clock : {&carried_, &before_, &clock_of_accesses_}) make_room(*clock, 1);
  if (histories_.size() < contested_.objects()) histories_.resize(contested_.objects());
  for (ObjectHistory& history : std::span(histories_).first(contested_.objects())) {
    history.accesses.clear();
    history.clocks = {};
  }
  make_room(history_clocks_, contested_.objects() * access_modes);
}

[[gnu::always_inline]] inline void HappensBefore::take_step(std::uint32_t step, const StepLog& log,
                                                            const Knowledge& known) {
  const TaskId context = log.choices[step].task;
  const Clock clock = row(now_, context);
  context_of_[step] = context;
  clock[context] = step + 1;
  // What a step learns after its accesses, as an operation that completes at once, is known to what
  // follows, but was not needed for them.
  bool has_accessed = false;
  bool has_learned = false;
  bool rests = false;
  std::size_t accessed = log.choices[step].first_access;
  const auto access_up_to = [&](std::size_t end) {
    if (accessed == end) return;
    has_accessed = true;
    has_learned = false;
    accessed = end;
    while (!left_.empty() && left_.front().access < end) take_access(clock, step);
  };
  for (const StepMark& mark : log.marks_of(step)) {
    access_up_to(mark.accesses);
    switch (mark.kind) {
      case StepMark::Kind::publish:
        publish(clock, mark.value);
        break;
      case StepMark::Kind::found:
        if (known.erased_keys.contains(mark.value)) break;  // it might have come before
        [[fallthrough]];
      case StepMark::Kind::join:
        if (has_accessed && !std::exchange(has_learned, true))
          copy(clock, clock_of_accesses_.data());
        join_published(mark.value, clock);
        break;
      case StepMark::Kind::carry:
        clear(carried_.data());
        join_published(mark.value, carried_.data());
        break;
      case StepMark::Kind::into:
        publish(carried_.data(), mark.value);
        break;
      case StepMark::Kind::start:
        join(clock, row(now_, mark.value));
        break;
      case StepMark::Kind::rest:
        rests = true;
        break;
    }
  }
  access_up_to(log.accesses_up_to(step));
  copy(has_learned ? clock_of_accesses_.data() : clock, row(clocks_, step));
  if (rests) rest();
}

void HappensBefore::rest() {
  const std::size_t contexts = now_.size() / width_;
  for (std::size_t context = 1; context < contexts; ++context)
    join(row(now_, context), row(now_, 0));
  for (std::size_t context = 1; context < contexts; ++context)
    copy(row(now_, 0), row(now_, context));
}

void HappensBefore::publish(const std::uint32_t* clock, StepKey object) {
  const std::uint32_t known = published_.size();
  const std::uint32_t number = published_.number_of(object);
  if (number < known) return join(clock, row(published_clocks_, number));
  make_room(published_clocks_, number + 1);
  copy(clock, row(published_clocks_, number));
}

void HappensBefore::join_published(StepKey from, Clock into) noexcept {
  if (const std::uint32_t number = published_.find(from); number != KeyTable::none)
    join(row(published_clocks_, number), into);
}

void HappensBefore::take_access(Clock clock, std::uint32_t step) {
  const std::uint32_t index = left_.front().access;
  const auto end =
      std::ranges::find_if(left_, [index](const Use& use) { return use.access != index; });
  const std::span<const Use> uses(left_.begin(), end);
  left_ = left_.subspan(uses.size());
  find_races(clock, step, uses);
  for (const Use& use : uses)
    (histories_[use.object].clocks & AccessModes::conflicting_with(use.mode))
        .for_each([&](AccessMode other) { join(history_clock(use.object, other), clock); });
  for (const Use& use : uses) note({step, index, use.mode}, clock, use.object);
}

void HappensBefore::note(const AccessInStep& access, Clock clock, std::uint32_t object) {
  ObjectHistory& history = histories_[object];
  if (access.mode == AccessMode::write) {
    history.accesses.clear();
    history.clocks = {};
  }
  history.accesses.push_back(access);
  const Clock of_mode = history_clock(object, access.mode);
  if (history.clocks.contains(access.mode)) return join(clock, of_mode);
  history.clocks.add(access.mode);
  copy(clock, of_mode);
}

// From the latest step back: what comes before a step that is found does not race itself.
void HappensBefore::find_races(Clock clock, std::uint32_t step, std::span<const Use> uses) {
  earlier_.clear();
  for (const Use& use : uses) {
    const ObjectHistory& history = histories_[use.object];
    if ((history.clocks & AccessModes::conflicting_with(use.mode)).empty()) continue;
    for (const AccessInStep& access : history.accesses)
      if (access.step != step && conflict(access.mode, use.mode) &&
          clock[context_of_[access.step]] <= access.step)
        earlier_.push_back(access);
  }
  if (earlier_.empty()) return;
  if (earlier_.size() > 1)
    std::ranges::stable_sort(earlier_, std::ranges::greater(), &AccessInStep::step);
  copy(clock, before_.data());
  for (const AccessInStep& access : earlier_) {
    if (before_[context_of_[access.step]] > access.step) continue;
    races_.push_back({access.step, step, access.access, uses.front().access});
    join(row(clocks_, access.step), before_.data());
  }
}

}  // namespace gang::sim
