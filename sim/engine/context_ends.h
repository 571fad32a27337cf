// How contexts end: by themselves, because the run is over, or not at all.
#pragma once

#include <cstdint>

#include "sim/contexts/termination.h"
#include "sim/report/left_behind.h"
#include "sim/state/task.h"

namespace gang::sim {

class Engine;

// The last steps of an engine's contexts. A context whose stack cannot be unwound is left behind:
// what is on its stack leaks, and the run goes on without it.
class ContextEnds final : public TerminationTarget {
 public:
  explicit ContextEnds(Engine& engine) noexcept : engine_(engine) {}

  // Whether the calling OS thread carries contexts of this run. Others may not call into it.
  bool is_on_this_thread() const noexcept { return termination_target == this; }

  // `task` has run to its end. Under the Guard.
  void end(Task& task);

  // The context that goes on after one that has ended, from now on the current one. Not under
  // parallel contexts.
  Task& make_way(const Task& ended);

  // Keeps a context that has been frozen from going on, until the run is over.
  [[noreturn]] void stay_frozen(Task& self);

  // The run is over, and `self` unwinds: the caller throws RunOver next, since each frame that an
  // exception passes costs as much as a few calls.
  [[gnu::cold, gnu::noinline]] void leave(Task& self);

  // `self` calls something after the end of the run: counts that and, where the caller can take an
  // exception, throws RunOver. A context that never stops calling is left behind. Under the Guard.
  enum class Refusal : std::uint8_t { by_exception, silent };
  [[gnu::cold, gnu::noinline]] void refuse(Task& self, Refusal refusal = Refusal::by_exception);

  bool carries_caller() const noexcept override;
  [[noreturn]] void terminated(Termination how) noexcept override;

 private:
  [[noreturn]] void leave_behind(Task& self, LeftBehindBy why) noexcept;

  Engine& engine_;
};

}  // namespace gang::sim
