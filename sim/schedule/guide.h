// Leads a run along a given beginning, and notes what its contexts do to each other.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/schedule/runnable_set.h"
#include "sim/schedule/sampler.h"
#include "sim/schedule/scheduler.h"
#include "sim/schedule/step_writer.h"

namespace gang::sim {

// A context whose next step need not be tried here: what follows it has been seen. It may run again
// once another context has done something that does not commute with that step.
struct SleepingStep {
  StepKey context = 0;
  std::span<const Access> accesses;  // of its next step; borrowed, and outlive the run
};

// What an exploration wants of its next run.
struct Beginning {
  std::vector<StepKey> choices;        // of the first steps
  std::vector<SleepingStep> sleeping;  // when the last of them is made
  // Whether a step ends at every call, even if it has done nothing: more schedules, none of which
  // ends in another way.
  bool chooses_at_every_call = false;
  // The exploration's own: where it branches off, and what was known then.
  void* branch = nullptr;
  std::uint64_t round = 0;
  const Knowledge* knowledge = nullptr;

  // The first step that no run before has made.
  std::size_t first_new_step() const noexcept { return choices.empty() ? 0 : choices.size() - 1; }
};

// One run at a time. The engine asks it which context makes the next step; the parts of the run
// tell it what the current context does. After the beginning it goes on as a Sampler says; without
// one with the context that runs, and otherwise with the next one, as round robin does.
class Guide : public StepWriter {
 public:
  // `known` outlives the run. Leaves the former beginning, whose memory can be used again.
  void begin(Beginning&& beginning, const Knowledge& known);
  // The same of a run that is drawn at random from its first step.
  void sample(std::unique_ptr<Sampler> sampler, const Knowledge& known);

  // Of this run. Sleepers that have woken are gone.
  const Beginning& beginning() const noexcept { return beginning_; }
  // Whether the run was given up because all that could follow has been seen.
  bool is_cut() const noexcept { return is_cut_; }
  // Whether the beginning asked for a context that could not run.
  bool has_diverged() const noexcept { return has_diverged_; }

  // -- Asked by the engine --

  void begin_run(int world_size);
  // Another scheduler has chosen the context.
  void watch(TaskId chosen);
  // Whether the context that makes the step, and could go on, does, without a choice: the step has
  // done nothing yet that others could tell, so whoever could go first here could have gone before
  // it, too.
  bool goes_on(TaskId current) const {
    return current == this->current() && has_done_nothing() &&
           (wanted_.empty() || !wanted_.contains(current)) && !beginning_.chooses_at_every_call;
  }
  // The context that makes the next step, unless goes_on() says that of `current`; throws
  // ScheduleDivergence if the run ends here.
  TaskId choose(const RunnableSet& runnable, TaskId current);
  // In which of `ways` the current context goes on, where all are to be tried. Their objects are
  // their names, which no others of the run have. The context has to come to a choice of who goes
  // on before it does anything else that may not commute with what others do.
  std::size_t pick(std::span<const Access> ways);

  // -- Told by mutexes --

  // The current context wants the mutex: it does not run while another one holds it.
  void wants(StepKey mutex) { wanted_[current()] = mutex; }
  void took(StepKey mutex);
  void released(StepKey mutex) { held_[mutex] = false; }

 private:
  void end_step() {
    if (sampler_ != nullptr || !beginning_.sleeping.empty()) tell_of_step();
  }
  void tell_of_step();
  bool is_asleep(StepKey context) const noexcept;
  bool waits_for_mutex(TaskId task) const;
  ContextBits without_waiters_for_mutexes(ContextBits enabled);
  TaskId next_context(ContextBits enabled, TaskId current);
  TaskId beginning_choice(ContextBits enabled);
  TaskId next_awake(ContextBits enabled, TaskId current);

  Beginning beginning_;
  std::unique_ptr<Sampler> sampler_;  // null: none
  const Knowledge* known_ = nullptr;
  std::unordered_map<TaskId, StepKey> wanted_;
  std::unordered_map<StepKey, bool> held_;
  std::vector<std::uint64_t> free_;   // of those who can run: who waits for no mutex
  std::vector<std::uint64_t> awake_;  // of those
  std::size_t made_choices_ = 0;
  bool is_cut_ = false;
  bool has_diverged_ = false;
};

// `guide` outlives the scheduler.
std::unique_ptr<Scheduler> make_guided_scheduler(Guide& guide);

}  // namespace gang::sim
