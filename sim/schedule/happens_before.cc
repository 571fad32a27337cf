#include "sim/schedule/happens_before.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace gang::sim {
namespace {

using VectorClock = std::vector<std::uint32_t>;

constexpr std::size_t most_clock_entries = 50'000'000;

template <typename Other>
void join_into(VectorClock& clock, const Other& other) {
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

struct AccessInStep {
  std::uint32_t step = 0;
  std::uint32_t access = 0;
  AccessMode mode = AccessMode::read;
};

// What has been done to one object since it was last written, that included.
struct ObjectHistory {
  std::vector<AccessInStep> accesses;
  std::vector<VectorClock> clocks =
      std::vector<VectorClock>(4);  // by mode; of a write: all before it, too

  void add(const AccessInStep& access, const VectorClock& clock) {
    if (access.mode == AccessMode::write) {
      accesses.clear();
      for (VectorClock& of_mode : clocks) of_mode.clear();
    }
    accesses.push_back(access);
    join_into(clocks[static_cast<std::size_t>(access.mode)], clock);
  }
};

// Whether two contexts access some object in ways that do not commute.
bool has_conflicts(const StepLog& log, const AnyReceives& known) {
  struct User {
    TaskId task;
    AccessMode mode;
  };
  std::unordered_map<StepKey, std::vector<User>> users;
  std::vector<StepKey> objects;
  for (const StepMark& mark : log.marks) {
    if (mark.kind != StepMark::Kind::access) continue;
    const Access& access = log.accesses[mark.value];
    objects.clear();
    add_objects(access, known, objects);
    for (const StepKey object : objects) {
      std::vector<User>& of = users[object];
      bool is_known = false;
      for (const User& user : of) {
        if (user.task != mark.task && conflict(user.mode, access.mode)) return true;
        is_known |= user.task == mark.task && user.mode == access.mode;
      }
      if (!is_known) of.push_back({mark.task, access.mode});
    }
  }
  return false;
}

}  // namespace

// Goes through a log from mark to mark.
class HappensBefore::Walk {
 public:
  Walk(HappensBefore& order, const StepLog& log, const AnyReceives& known)
      : order_(order),
        log_(log),
        known_(known),
        clocks_(log.contexts.size(), VectorClock(log.contexts.size(), 0)) {}

  void take(const StepMark& mark) {
    VectorClock& clock = clocks_[mark.task];
    switch (mark.kind) {
      case StepMark::Kind::step:
        end_step();
        order_.context_of_.push_back(mark.task);
        clock[mark.task] = static_cast<std::uint32_t>(order_.context_of_.size());
        is_in_step_ = true;
        return;
      case StepMark::Kind::access:
        return access(clock, static_cast<std::uint32_t>(mark.value));
      case StepMark::Kind::publish:
        return join_into(published_[mark.value], clock);
      case StepMark::Kind::join:
        if (const auto found = published_.find(mark.value); found != published_.end())
          join_into(clock, found->second);
        return;
      case StepMark::Kind::carry:
        carried_ = published_[mark.value];
        return;
      case StepMark::Kind::into:
        return join_into(published_[mark.value], carried_);
      case StepMark::Kind::start:
        return join_into(clocks_[mark.value], clock);
      case StepMark::Kind::rest: {
        end_step();
        VectorClock all = clock;
        for (const VectorClock& other : clocks_) join_into(all, other);
        std::ranges::fill(clocks_, all);
        return;
      }
    }
  }

  void end_step() {
    if (!is_in_step_) return;
    const VectorClock& clock = clocks_[order_.context_of_.back()];
    order_.clocks_.insert(order_.clocks_.end(), clock.begin(), clock.end());
    is_in_step_ = false;
  }

 private:
  void access(VectorClock& clock, std::uint32_t index) {
    const auto step = static_cast<std::uint32_t>(order_.context_of_.size() - 1);
    const Access& access = log_.accesses[index];
    objects_.clear();
    add_objects(access, known_, objects_);
    find_races(clock, {step, index, access.mode});
    for (const StepKey object : objects_) {
      const ObjectHistory& history = histories_[object];
      for (std::size_t mode = 0; mode < history.clocks.size(); ++mode)
        if (conflict(access.mode, static_cast<AccessMode>(mode)))
          join_into(clock, history.clocks[mode]);
    }
    for (const StepKey object : objects_) histories_[object].add({step, index, access.mode}, clock);
  }

  // From the latest step back: what comes before a step that is found does not race itself.
  void find_races(const VectorClock& clock, const AccessInStep& now) {
    std::vector<AccessInStep> earlier;
    for (const StepKey object : objects_)
      for (const AccessInStep& access : histories_[object].accesses)
        if (access.step != now.step && conflict(access.mode, now.mode)) earlier.push_back(access);
    std::ranges::stable_sort(earlier, std::ranges::greater(), &AccessInStep::step);
    VectorClock before = clock;
    for (const AccessInStep& access : earlier) {
      if (before[order_.context_of_[access.step]] > access.step) continue;
      order_.races_.push_back({access.step, now.step, access.access, now.access});
      join_into(before, order_.clock_of(access.step));
    }
  }

  HappensBefore& order_;
  const StepLog& log_;
  const AnyReceives& known_;
  std::vector<VectorClock> clocks_;  // by context
  std::unordered_map<StepKey, VectorClock> published_;
  VectorClock carried_;
  std::unordered_map<StepKey, ObjectHistory> histories_;
  std::vector<StepKey> objects_;  // of this access
  bool is_in_step_ = false;
};

bool HappensBefore::fits(const StepLog& log) noexcept {
  return log.choices.size() * log.contexts.size() <= most_clock_entries;
}

HappensBefore::HappensBefore(const StepLog& log, const AnyReceives& known)
    : contexts_(log.contexts.size()) {
  if (!has_conflicts(log, known)) return;
  Walk walk(*this, log, known);
  for (const StepMark& mark : log.marks) walk.take(mark);
  walk.end_step();
}

std::span<const std::uint32_t> HappensBefore::clock_of(std::uint32_t step) const noexcept {
  return std::span(clocks_).subspan(step * contexts_, contexts_);
}

}  // namespace gang::sim
