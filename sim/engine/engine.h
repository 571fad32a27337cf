// The scheduling core of a run: who runs, who waits, what time it is.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <vector>

#include "sim/backends/root_gangs.h"
#include "sim/contexts/context_switcher.h"
#include "sim/contexts/fiber_switcher.h"
#include "sim/contexts/parallel_carrier.h"
#include "sim/contexts/wall_clock.h"
#include "sim/engine/event_queue.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/finding_log.h"
#include "sim/schedule/runnable_set.h"
#include "sim/schedule/scheduler.h"
#include "sim/simulation.h"
#include "sim/state/awaited_message.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

class FaultInjector;
class Matching;
class ReductionPool;
enum class Moment : std::uint8_t;
struct GangState;
struct PendingOperation;

// In which schedules something happens, as far as one run can tell.
enum class Schedules : std::uint8_t { every, at_least_this };

// Thrown at a rank whose run is over, to unwind its stack. Not a std::exception, so that programs
// do not take it for an error of theirs.
struct RunOver {};

// What a context is blocked in, for reports. On the stack of the blocking function.
struct Wait {
  enum class Reason : std::uint8_t {
    operations,
    any_operation,
    sleep,
    join,
    mutex,
    condition,
    poll,
    message
  };
  Reason reason = Reason::operations;
  std::span<PendingOperation* const> operations = {};
  const Task* joined = nullptr;  // join
  const Task* holder = nullptr;  // mutex
  const AwaitedMessage* message = nullptr;
  // Where the wait ends by itself. Like an operation's: time does not pass for its sake alone,
  // unless timeouts fire.
  TimePoint deadline = TimePoint::max();
};

// One run. Everything of it that is shared is guarded by `Guard` (a mutex under parallel contexts,
// nothing otherwise, since one context runs at a time).
class Engine final : public TaskRunner {
 public:
  Engine(const SimulationOptions& options, const RankProgram& program);
  ~Engine() override;

  Report run();

  // What a search for contexts that can never go on finds now. Called under a Guard.
  Report examine();

  // Notes that options().forced_receive has met its message.
  void note_forced_receive() noexcept { forced_receive_completed_ = true; }

  // Every entry from a program takes one. Not recursive.
  class Guard {
   public:
    explicit Guard(Engine& engine) : mutex_(engine.is_parallel_ ? &engine.mutex_ : nullptr) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::mutex* mutex_;
  };

  // The functions below are called under a Guard.

  Task& current() const noexcept { return is_parallel_ ? parallel_current() : *current_; }

  // Blocks the current context until somebody wakes it; it may be woken for nothing, so callers
  // loop. Throws RunOver when the run ends first.
  [[gnu::always_inline]] void block(Task& self, const Wait& wait) {
    check_running();
    block_quietly(self, wait);
    if (is_over_) [[unlikely]]
      leave(self);
  }

  // The same, but returns when the run ends. For destructors.
  [[gnu::always_inline]] void block_quietly(Task& self, const Wait& wait) noexcept {
    self.wait = &wait;
    ++self.wait_serial;
    suspend(self);
    self.wait = nullptr;
  }

  // Lets `task` go on if it is blocked. Idempotent.
  void wake(Task& task);

  // Where other contexts may go first, if the scheduler likes to switch at every call.
  void scheduling_point() {
    if (switches_everywhere_) switch_at_call();
  }

  // Lets all others go first: a poll that found nothing, of `pending` where it is about one.
  void poll(PendingOperation* pending = nullptr);

  // Wakes `task` at `time`, unless its current wait has ended before.
  void wake_at(TimePoint time, Task& task);

  TimePoint now() const noexcept { return is_parallel_ ? parallel_now() : now_; }

  // Throws RunOver if the run is over: nothing may be posted any more.
  void check_running() const {
    if (is_over_) [[unlikely]]
      throw RunOver{};
  }
  bool is_over() const noexcept { return is_over_; }

  Task& start_context(Task& parent, std::string name, std::function<void()> body);

  // Numbers the calls of all ranks, from 1 on.
  std::uint64_t next_call() noexcept { return ++calls_; }

  // Tells that `operation` will time out at its deadline.
  void note_deadline(TimePoint deadline) noexcept {
    if (deadline < deadline_bound_) deadline_bound_ = deadline;
  }

  // Notes that something has happened that a polling context could see.
  void note_progress() noexcept { ++progress_; }

  // Notes that the program's course may depend on the schedule from here on: a poll, a choice among
  // senders, a further context, a timeout.
  void note_choice_point() noexcept { ++choice_points_; }

  // Whether what has happened so far happens in every schedule.
  Schedules schedules() const noexcept {
    return choice_points_ == 0 ? Schedules::every : Schedules::at_least_this;
  }

  // A number from the schedule's stream.
  std::uint64_t draw();

  RankState& rank_state(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  const RankState& rank_state(int rank) const noexcept {
    return ranks_[static_cast<std::size_t>(rank)];
  }
  std::span<RankState> ranks() noexcept { return ranks_; }
  const SimulationOptions& options() const noexcept { return options_; }
  Counts& counts() noexcept { return counts_; }
  FindingLog& findings() noexcept { return findings_; }
  TraceRecorder& recorder() noexcept { return recorder_; }
  Matching& matching() noexcept { return *matching_; }
  const Matching& matching() const noexcept { return *matching_; }
  Runtime& runtime() noexcept { return *runtime_; }
  bool has_root_gangs() const noexcept { return root_gangs_ != nullptr; }
  RootGangs& root_gangs() noexcept { return *root_gangs_; }  // unless the gangs are SimGangs
  const std::shared_ptr<GangState>& root_state() const noexcept { return root_; }
  ReductionPool& reduction_pool() noexcept { return *reduction_pool_; }
  // The context of the rank's program.
  const Task& program_of(int rank) const noexcept { return tasks_[static_cast<std::size_t>(rank)]; }

  // What makes faults happen; null without a plan, which is the usual case.
  FaultInjector* faults() const noexcept { return faults_.get(); }

  // A further gang of all ranks, of which programs do not know: this rank's handle.
  std::shared_ptr<Gang> spare_root();

  // Blocks the current context for so long.
  void sleep(Task& self, Duration duration);

  // No context of the rank runs any more; one that is running calls stay_frozen next.
  void freeze(RankState& rank);
  [[noreturn]] void stay_frozen(Task& self);

  // Starts the program of a frozen rank anew, as its next incarnation.
  void restart(int rank);

  // Contexts that have not ended and are not frozen, by rank, the rank's program first.
  std::vector<const Task*> live_tasks() const;

  // Notes that the program of `task`'s rank has ended with an exception.
  void rank_failed(Task& task) noexcept;

  Task& run_task(Task& task) noexcept override;

 private:
  friend class SimulatedRank;

  Task& task(TaskId id) noexcept {
    return id < tasks_.size() ? tasks_[id] : further_tasks_[id - tasks_.size()];
  }
  Task& parallel_current() const noexcept;
  TimePoint parallel_now() const noexcept;

  [[gnu::always_inline]] void suspend(Task& self) {
    if (is_parallel_) [[unlikely]]
      return suspend_parallel(self);
    Task& next = pick_next(self.id);
    if (&next != &self) switch_to(self, next);
  }
  [[gnu::always_inline]] void switch_to(Task& from, Task& to) {
    current_ = &to;
    if (fibers_ != nullptr)
      fibers_->jump(from, to);
    else
      switcher_->switch_to(from, to);
  }
  // Throws RunOver; before that, notes the call stack where the report wants it.
  [[noreturn, gnu::cold, gnu::noinline]] void leave(const Task& self);
  void want_call_stacks();
  void name_call_stacks();
  void suspend_parallel(Task& self);
  void stop_running();  // of a parallel context
  void switch_at_call();
  Task& pick_next(TaskId after);
  Task& choose(TaskId after);
  void run_ranks();
  void run_ranks_parallel();
  void start_parallel_thread(Task& task);
  void run_body(Task& task);
  void run_rank_program(Task& task);
  void note_faults(Report& report) const;
  std::shared_ptr<Gang> root_gang_of(Task& task);
  void task_ended(Task& task);

  // Called when no context can run: lets time pass, or ends the run. Afterwards somebody can.
  void on_idle();
  bool retry_polls();
  bool retry_polls_after_progress();
  void let_go_on(Task& task);
  bool let_time_pass();
  bool timeouts_fire() const noexcept;
  std::optional<TimePoint> next_event();
  void happen(TimePoint time);  // what is due then
  bool only_frozen_are_left() const noexcept;
  TimePoint earliest_deadline() const;
  void time_out();
  void advance_to(TimePoint time);
  void give_verdict();
  void end_run(Outcome outcome);
  void count_step() {
    if (++counts_.switches >= next_stop_) [[unlikely]]
      reach_stop();
  }
  void reach_stop();
  void plan_next_stop();
  bool search_while_others_run();  // whether it has found something, and ended the run or a gang
  bool searches_while_others_run() const noexcept;
  void end_with_verdict(Moment moment);
  void check_replayed_to_the_end();
  Report make_report();

  const SimulationOptions& options_;
  const RankProgram& program_;
  const bool is_parallel_;
  bool switches_everywhere_ = false;
  bool asks_scheduler_ = false;  // false: round robin, asked inline
  std::size_t asked_ = 0;        // choices that the scheduler has made
  bool expects_ = false;         // tells the switcher who comes next
  bool is_over_ = false;
  Outcome outcome_ = Outcome::completed;
  Task* current_ = nullptr;
  RunnableSet runnable_;
  Counts counts_;
  TimePoint now_{0};
  TimePoint deadline_bound_ = TimePoint::max();
  std::uint64_t calls_ = 0;
  std::uint64_t progress_ = 0;   // counts what could make a poll fruitful
  std::uint64_t polled_at_ = 0;  // progress_ when the polls were last retried
  std::uint64_t fruitless_rounds_ = 0;
  std::uint64_t choice_points_ = 0;
  std::size_t tasks_left_ = 0;
  std::size_t frozen_left_ = 0;  // of those
  std::uint64_t next_stop_ = 0;  // of counts_.switches: past the limit, or the next search

  std::vector<Task> tasks_;  // by rank
  std::deque<Task> further_tasks_;
  std::vector<RankState> ranks_;
  std::vector<TaskId> polling_;
  Task outside_;
  EventQueue events_;
  FindingLog findings_;
  TraceRecorder recorder_;
  Schedule recorded_;
  std::vector<BlockedCall> blocked_;
  // By the contexts whose stacks the report wants: where in `blocked_`, and the walked stack.
  struct WantedStack {
    std::size_t blocked;
    std::vector<std::uintptr_t> addresses;
  };
  std::map<TaskId, WantedStack> wanted_stacks_;
  std::string divergence_;
  std::string certainty_;
  bool forced_receive_completed_ = false;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<ReductionPool> reduction_pool_;
  std::unique_ptr<Matching> matching_;
  std::unique_ptr<FaultInjector> faults_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<GangState> root_;
  std::shared_ptr<GangState> spare_root_;  // once asked for
  std::unique_ptr<RootGangs> root_gangs_;  // null: SimGang
  std::unique_ptr<ContextSwitcher> switcher_;
  FiberSwitcher* fibers_ = nullptr;  // switcher_, where it is one

  // Parallel contexts.
  std::mutex mutex_;
  std::deque<ParallelCarrier> carriers_;
  std::size_t running_ = 0;
  std::binary_semaphore all_done_{0};
  WallClock wall_clock_;  // since run() began
  Duration skipped_{0};
};

}  // namespace gang::sim
