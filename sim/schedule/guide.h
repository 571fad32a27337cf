// Leads a run along a given beginning, and notes what its contexts do to each other.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/schedule/runnable_set.h"
#include "sim/schedule/scheduler.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// A context whose next step need not be tried here: what follows it has been seen. It may run again
// once another context has done something that does not commute with that step.
struct SleepingStep {
  StepKey context = 0;
  std::vector<Access> accesses;  // of its next step
};

// What an exploration wants of its next run.
struct Beginning {
  std::vector<StepKey> choices;        // of the first steps
  std::vector<SleepingStep> sleeping;  // when the last of them is made
};

// One run at a time. The engine asks it which context makes the next step; the parts of the run
// tell it what the current context does. After the beginning it goes on with the context that runs,
// and otherwise with the next one, as round robin does.
class Guide {
 public:
  // `known` outlives the run.
  void begin(Beginning beginning, const AnyReceives& known);

  // Whether the run was given up because all that could follow has been seen.
  bool is_cut() const noexcept { return is_cut_; }
  // Whether the beginning asked for a context that could not run.
  bool has_diverged() const noexcept { return has_diverged_; }
  // Whether the run became too long to be noted: then its log is empty.
  bool is_full() const noexcept { return is_full_; }
  const StepLog& log() const noexcept { return log_; }

  // -- Asked by the engine --

  void begin_run(int world_size);
  // Another scheduler has chosen the context.
  void watch(TaskId chosen);
  // The context that makes the next step; throws ScheduleDivergence if the run ends here.
  TaskId choose(const RunnableSet& runnable, TaskId current);

  // -- Told by the parts of a run, of the context that makes the step --

  void started(TaskId child, std::string name);
  // No context can run; until the next choice nothing is due to a context.
  void rests();
  void access(const Access& access);
  void publish(StepKey object) { mark(StepMark::Kind::publish, object); }
  void join(StepKey object) { mark(StepMark::Kind::join, object); }
  // Who joins `to` comes after what was published for `from`, too.
  void carry(StepKey from, StepKey to) {
    mark(StepMark::Kind::carry, from);
    mark(StepMark::Kind::into, to);
  }
  // Where to note the rest; null where nothing is noted.
  StepLog* notes() noexcept { return rests_ || is_full_ ? nullptr : &log_; }

  // A new object of the current context, and its end, where others wait for that.
  StepKey new_object();
  StepKey end_of(TaskId task) const;

  // The operation at `address`, which the current context posts now, and later.
  StepKey posted(const void* address);
  StepKey posted_at(const void* address) const;

  // The current context wants the mutex: it does not run while another one holds it.
  void wants(StepKey mutex) { wanted_[current_] = mutex; }
  void took(StepKey mutex);
  void released(StepKey mutex) { held_[mutex] = false; }

 private:
  void note_choice(TaskId chosen);
  void give_up_noting() noexcept;
  void mark(StepMark::Kind kind, std::uint64_t value);
  void end_step();
  bool is_asleep(StepKey context) const noexcept;
  bool waits_for_mutex(TaskId task) const;
  TaskId beginning_choice();
  TaskId next_awake(const std::vector<TaskId>& enabled, TaskId current);

  StepLog log_;
  Beginning beginning_;
  const AnyReceives* known_ = nullptr;
  std::unordered_map<StepKey, std::uint64_t> made_;  // objects and contexts, by context
  std::unordered_map<const void*, StepKey> posted_;
  std::unordered_map<TaskId, StepKey> wanted_;
  std::unordered_map<StepKey, bool> held_;
  std::vector<TaskId> enabled_;  // at this choice
  std::size_t made_choices_ = 0;
  std::size_t step_accesses_ = 0;
  TaskId current_ = 0;
  bool rests_ = true;
  bool is_cut_ = false;
  bool has_diverged_ = false;
  bool is_full_ = false;
};

std::unique_ptr<Scheduler> make_guided_scheduler(std::shared_ptr<Guide> guide);

}  // namespace gang::sim
