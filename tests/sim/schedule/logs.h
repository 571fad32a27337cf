// Logs of steps, made by hand.
#pragma once

#include <vector>

#include "sim/schedule/step_log.h"

namespace gang::sim::test {

// Who could have made the step, or the ways of a pick.
inline std::vector<StepKey> enabled_at(const StepLog& log, const StepChoice& choice) {
  std::vector<StepKey> enabled;
  log.for_each_enabled(choice, [&enabled](StepKey key) { enabled.push_back(key); });
  return enabled;
}

// A log of `contexts` contexts, 63 at most, whose keys are 100, 101, ...
class LogWriter {
 public:
  explicit LogWriter(std::size_t contexts) {
    for (std::size_t i = 0; i < contexts; ++i) log_.contexts.push_back(100 + i);
    log_.names.resize(contexts);
    log_.parents.resize(contexts, no_task);
  }

  LogWriter& step(TaskId task) {
    task_ = task;
    log_.choices.push_back({.chosen = log_.contexts[task],
                            .task = task,
                            .first_mark = static_cast<std::uint32_t>(log_.marks.size()),
                            .first_access = static_cast<std::uint32_t>(log_.accesses.size()),
                            .first_enabled = static_cast<std::uint32_t>(log_.enabled.size()),
                            .enabled_size = 1});
    log_.enabled.push_back((std::uint64_t{1} << log_.contexts.size()) - 1);
    return *this;
  }
  LogWriter& access(StepKey object, AccessMode mode = AccessMode::write) {
    log_.accesses.push_back({.mode = mode, .task = task_, .object = object});
    return *this;
  }
  // A message of the rank of the context, which has its number.
  LogWriter& send(StepKey mailbox) {
    access(mailbox);
    log_.accesses.back().kind = AccessKind::message;
    log_.accesses.back().rank = static_cast<int>(task_);
    return *this;
  }
  LogWriter& mark(StepMark::Kind kind, std::uint64_t value = 0) {
    log_.marks.push_back({kind, static_cast<std::uint32_t>(log_.accesses.size()), value});
    return *this;
  }

  const StepLog& log() const noexcept { return log_; }

 private:
  StepLog log_;
  TaskId task_ = 0;
};

}  // namespace gang::sim::test
