// The choices of a run: who makes them, and what is recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/options/simulation_options.h"
#include "sim/report/certainty.h"
#include "sim/schedule/runnable_set.h"
#include "sim/schedule/scheduler.h"
#include "sim/schedule/step_log.h"
#include "sim/state/task.h"

namespace gang::sim {

// Asks the scheduler and records its answers.
class Choices {
 public:
  explicit Choices(const SimulationOptions& options);

  void begin_run(int world_size);

  // Whether the scheduler may switch at every call, not only where a context blocks.
  bool switches_everywhere() const noexcept { return switches_everywhere_; }

  // Whether a test that finds an operation pending, or a yield, returns at once, rather than after
  // all others have run as far as they can; `in_vain` others of this context came before it, since
  // one found something.
  bool returns_at_once(bool is_first_test, std::uint64_t in_vain) const noexcept {
    return (is_first_test && looks_at_once_) || in_vain < most_tries_at_once_;
  }

  // Whether there are such tests: the schedules of explorations.
  bool looks_at_once() const noexcept { return looks_at_once_; }

  // An operation was found pending at once, and has ended: that no time passes in between is what
  // such a schedule takes for granted. Of a yield, the end never comes.
  void note_early_look() noexcept { ++early_looks_; }
  void note_end_of_early_look() noexcept { --early_looks_; }
  void note_time_passed() noexcept {
    if (early_looks_ != 0) note_choice_point(Unguided::passing_time);
  }

  // Whether a Guide makes the choices.
  bool is_guided() const noexcept { return is_guided_; }

  // Whom to tell what the current context does; null where nobody asks.
  Guide* guide() const noexcept { return guide_; }

  // Whether the scheduler is consulted at all; round robin is not.
  bool asks_scheduler() const noexcept { return asks_scheduler_; }

  // Whether they follow from the contexts that can run, and nobody is told of them.
  bool are_plain() const noexcept {
    return !asks_scheduler_ && !is_recording_ && guide_ == nullptr;
  }

  // Whether it is consulted where so many contexts can run: a Guide is, even where there is only
  // one.
  bool are_made_by_scheduler(std::size_t runnable) const noexcept {
    return runnable > 1 ? asks_scheduler_ : is_guided_;
  }

  // Whether a Guide is told which context runs, and does not choose it.
  bool are_watched() const noexcept { return guide_ != nullptr && !is_guided_; }

  // Chooses which of `runnable` runs next; `after` ran last. Returns no_task if a
  // replayed schedule does not fit this run.
  TaskId ask(const RunnableSet& runnable, TaskId after);

  // Whether `current`, which could go on, does so without a choice.
  bool goes_on(TaskId current) const;

  // `chosen` was picked from `runnable` contexts, two or more.
  void record(TaskId chosen, std::size_t runnable) {
    if (is_recording_) recorded_.choices.push_back({chosen, static_cast<std::uint32_t>(runnable)});
  }

  // Counts a choice among `runnable` contexts, if that is one.
  void count(std::size_t runnable) noexcept {
    if (runnable > 1) [[likely]]
      ++count_;
  }
  std::uint64_t counted() const noexcept { return count_; }

  // One of `ways`, which a Guide that leads the run tries all (Guide::pick); otherwise drawn, as
  // part of the schedule.
  std::size_t pick(std::span<const Access> ways);

  // From here on the program's course may depend on the schedule: a poll, a choice among senders, a
  // further context, a timeout.
  void note_choice_point(Unguided unguided) noexcept {
    ++choice_points_;
    // With `outside`, not even the same choices make the same run.
    if (!unguided_ || unguided == Unguided::outside) unguided_ = unguided;
  }

  // The same, for a choice whose sides a Guide is told: exploration can take the other side.
  void note_guided_choice() noexcept { ++choice_points_; }

  // The first choice so far that is not such, or `outside` if that is among them; none: there is
  // none.
  std::optional<Unguided> unguided() const noexcept { return unguided_; }

  // The same, unless nothing more happens that could have come otherwise: further senders to a
  // receive from any source, the end of what was tested. That would be noted as a choice point.
  void note_open_choice() noexcept { ++open_choices_; }

  // Whether there is nothing more to note.
  bool is_decided() const noexcept { return choice_points_ != 0; }

  // Whether nothing more can happen now: no context can run, and none polls.
  void set_at_rest(bool is_at_rest) noexcept { is_at_rest_ = is_at_rest; }

  // Whether what has happened so far happens in every schedule.
  Schedules schedules() const noexcept {
    return choice_points_ == 0 && (is_at_rest_ || open_choices_ == 0) ? Schedules::every
                                                                      : Schedules::at_least_this;
  }

  // Where a replayed schedule and this run diverge; empty if they do not. Call at the end of a run
  // that was not cut short: a schedule with steps left over diverges, too.
  void check_replayed_to_the_end();
  const std::string& divergence() const noexcept { return divergence_; }

  Schedule take_schedule() { return std::move(recorded_); }

 private:
  const SimulationOptions& options_;
  std::unique_ptr<Scheduler> scheduler_;
  const bool asks_scheduler_;
  const bool switches_everywhere_;
  const bool looks_at_once_;
  const std::uint64_t most_tries_at_once_;
  const bool is_recording_;
  const bool is_guided_;
  Guide* const guide_;
  std::uint64_t asked_ = 0;  // choices that the scheduler has made
  std::uint64_t count_ = 0;
  std::uint64_t choice_points_ = 0;
  std::optional<Unguided> unguided_;
  std::uint64_t open_choices_ = 0;
  std::uint64_t early_looks_ = 0;
  bool is_at_rest_ = false;
  Schedule recorded_;
  std::string divergence_;
};

}  // namespace gang::sim
