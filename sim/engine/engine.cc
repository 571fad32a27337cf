#include "sim/engine/engine.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/contexts/call_stack.h"
#include "sim/contexts/invariant.h"
#include "sim/engine/simulated_runtime.h"
#include "sim/injection/fault_injector.h"
#include "sim/matching/matching.h"
#include "sim/matching/reduction_pool.h"
#include "sim/matching/sim_gang.h"
#include "sim/matching/sim_work.h"
#include "sim/schedule/replay_scheduler.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/deadlock_verdict.h"
#include "sim/verdict/failure.h"

namespace gang::sim {
namespace {

constexpr std::uint64_t most_fruitless_rounds = 10'000;
constexpr std::uint64_t least_switches_between_searches = 1000;

}  // namespace

Engine::Engine(const SimulationOptions& options, const RankProgram& program)
    : options_(options),
      program_(program),
      is_parallel_(options.context == ContextKind::parallel),
      tasks_(static_cast<std::size_t>(options.world_size)),
      ranks_(static_cast<std::size_t>(options.world_size)),
      recorder_(options),
      scheduler_(make_scheduler(options)),
      reduction_pool_(std::make_unique<ReductionPool>(options.reduction_threads)),
      matching_(std::make_unique<Matching>(*this)),
      faults_(options.faults ? std::make_unique<FaultInjector>(*this, *options.faults) : nullptr),
      runtime_(make_simulated_runtime(*this)) {
  outside_.id = outside_task;
  outside_.is_started = true;
  asks_scheduler_ = options.scheduler != SchedulerKind::round_robin;
  expects_ = options.context == ContextKind::fiber && !asks_scheduler_ && tasks_.size() > 512;
  switches_everywhere_ = scheduler_->switch_points() == SwitchPoints::all_calls;
  recorded_.switch_points = scheduler_->switch_points();
  runnable_.reserve(tasks_.size());
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    ranks_[i].rank = static_cast<int>(i);
    tasks_[i].id = static_cast<TaskId>(i);
    tasks_[i].rank = &ranks_[i];
  }
  tasks_left_ = tasks_.size();
  plan_next_stop();
  root_ = matching_->make_root_gang();
  root_gangs_ = make_root_gangs(*this);
}

Engine::~Engine() = default;

Report Engine::run() {
  wall_clock_ = WallClock{};
  scheduler_->begin_run(options_.world_size);
  if (is_parallel_)
    run_ranks_parallel();
  else
    run_ranks();
  return make_report();
}

void Engine::run_ranks() {
  if (options_.context == ContextKind::fiber) {
    auto fibers = std::make_unique<FiberSwitcher>(*this, options_.stack_bytes, tasks_.size());
    fibers_ = fibers.get();
    switcher_ = std::move(fibers);
  } else {
    switcher_ = make_thread_switcher(*this);
  }
  for (const Task& task : tasks_) runnable_.insert(task.id);
  Task& first = choose(outside_task);
  switch_to(outside_, first);
  fibers_ = nullptr;
  switcher_.reset();
  set_rank_locals(nullptr);
}

void Engine::wake(Task& task) {
  if (task.wait == nullptr) return;
  ++progress_;
  if (task.wait->reason == Wait::Reason::poll) [[unlikely]]
    std::erase(polling_, task.id);  // what it polls has ended by itself
  let_go_on(task);
}

void Engine::let_go_on(Task& task) {
  task.wait = nullptr;
  if (is_parallel_) {
    ++running_;
    carriers_[task.id].wakes.release();
  } else {
    runnable_.insert(task.id);
  }
}

void Engine::wake_at(TimePoint time, Task& task) {
  // The wait that this wake-up is for begins with the next block.
  ++task.wait_serial;
  events_.push(time, task);
  --task.wait_serial;
}

void Engine::switch_at_call() {
  if (is_over_ || is_parallel_) return;
  Task& self = current();
  runnable_.insert(self.id);
  Task& next = pick_next(self.id);
  if (&next != &self) switch_to(self, next);
}

void Engine::poll(PendingOperation* pending) {
  check_running();
  note_choice_point();
  Task& self = current();
  polling_.push_back(self.id);
  const std::size_t polled = pending != nullptr ? 1 : 0;
  block(self, Wait{Wait::Reason::poll, std::span(&pending, polled)});
}

Task& Engine::pick_next(TaskId after) {
  while (runnable_.empty()) on_idle();
  return choose(after);
}

Task& Engine::choose(TaskId after) {
  count_step();
  TaskId chosen = no_task;
  const std::size_t runnable = runnable_.size();
  if (runnable > 1) {
    ++counts_.choices;
    if (asks_scheduler_ && !is_over_) {
      try {
        chosen = scheduler_->next_rank(runnable_, after);
        ++asked_;
        GANGSIM_INVARIANT(runnable_.contains(chosen), "a scheduler chose a blocked context");
      } catch (const ScheduleDivergence& divergence) {
        divergence_ = divergence.what();
        end_run(Outcome::diverged);
      }
    }
  }
  // Once the run is over, the youngest contexts end first: what they use of those that have started
  // them is still there.
  if (chosen == no_task && is_over_ && !further_tasks_.empty()) chosen = runnable_.last();
  if (chosen == no_task)
    chosen = after == outside_task ? runnable_.first() : runnable_.next_after(after);
  if (runnable > 1 && options_.schedule == Recording::on && !is_over_)
    recorded_.choices.push_back({chosen, static_cast<std::uint32_t>(runnable)});
  runnable_.remove(chosen);
  if (expects_ && runnable > 2)
    switcher_->expect(runnable_.next_after(runnable_.next_after(chosen)));
  return task(chosen);
}

bool Engine::searches_while_others_run() const noexcept {
  return options_.deadlock_search == DeadlockSearch::while_others_run && !is_parallel_ &&
         options_.pending_timeouts == PendingTimeouts::are_deadlocks;
}

void Engine::plan_next_stop() {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  next_stop_ = options_.step_limit == never ? never : options_.step_limit + 1;
  if (searches_while_others_run())
    next_stop_ = std::min(
        next_stop_, counts_.switches + std::max(least_switches_between_searches, 16 * tasks_left_));
}

void Engine::reach_stop() {
  if (is_over_) return;
  if (counts_.switches > options_.step_limit) return end_run(Outcome::step_limit);
  plan_next_stop();
  search_while_others_run();
}

bool Engine::search_while_others_run() {
  const BlockedWorld world(*this, Moment::while_others_run);
  if (world.dead_contexts().empty()) return false;
  if (!matching_->fail_mismatched_operations()) end_with_verdict(Moment::while_others_run);
  return true;
}

std::uint64_t Engine::draw() {
  const std::uint64_t number = scheduler_->next_u64();
  note_choice_point();
  if (options_.schedule == Recording::on) recorded_.draws.push_back(number);
  return number;
}

Task& Engine::run_task(Task& task) noexcept {
  run_body(task);
  task_ended(task);
  Task& next = tasks_left_ == 0 ? outside_ : pick_next(task.id);
  current_ = &next;
  return next;
}

void Engine::run_body(Task& task) {
  {
    Guard guard(*this);
    if (is_over_) return;
    recorder_.task(TraceEventKind::task_start, task, now());
  }
  if (!task.further) return run_rank_program(task);
  try {
    task.further->body();
  } catch (const RunOver&) {
  } catch (...) {
    task.further->error = std::current_exception();
  }
  task.further->body = nullptr;
}

std::shared_ptr<Gang> Engine::root_gang_of(Task& task) {
  if (root_gangs_) return root_gangs_->make(task.rank->rank);
  return std::make_shared<SimGang>(*this, root_, task.rank->rank, *task.rank);
}

std::shared_ptr<Gang> Engine::spare_root() {
  if (!spare_root_) spare_root_ = matching_->make_root_gang();
  RankState& rank = *current().rank;
  return std::make_shared<SimGang>(*this, spare_root_, rank.rank, rank);
}

void Engine::sleep(Task& self, Duration duration) {
  if (duration == Duration::zero()) return;
  const TimePoint now = this->now();
  const TimePoint end = duration >= TimePoint::max() - now ? TimePoint::max() : now + duration;
  do {
    wake_at(end, self);
    block(self, Wait{Wait::Reason::sleep});
  } while (this->now() < end);
}

void Engine::run_rank_program(Task& task) {
  try {
    if (faults_ != nullptr) faults_->begin_program(task);
    SimulatedRank rank(*this, task.rank->rank, root_gang_of(task), task.rank->incarnation);
    program_(rank);
    Guard guard(*this);
    // What a former incarnation has left went with it.
    if (!is_over_ && task.rank->incarnation == 0) report_outliving_works(*task.rank);
  } catch (const RunOver&) {
  } catch (...) {
    Guard guard(*this);
    if (!is_over_) report_rank_failure(*this, task, std::current_exception());
  }
}

void Engine::rank_failed(Task& task) noexcept {
  task.rank->has_failed = true;
  if (outcome_ == Outcome::completed) outcome_ = Outcome::failed;
}

void Engine::task_ended(Task& task) {
  Guard guard(*this);
  task.is_done = true;
  --tasks_left_;
  ++progress_;
  if (!task.further) {
    task.rank->has_returned = true;
    if (!is_over_) matching_->rank_gone(task.rank->rank);
  }
  if (!is_over_) recorder_.task(TraceEventKind::task_end, task, now());
  if (task.further && task.further->joiner != nullptr) wake(*task.further->joiner);
  if (!is_parallel_) return;
  if (tasks_left_ == 0)
    all_done_.release();
  else
    stop_running();
}

Task& Engine::start_context(Task& parent, std::string name, std::function<void()> body) {
  check_running();
  note_choice_point();
  Task& task = further_tasks_.emplace_back();
  task.id = static_cast<TaskId>(tasks_.size() + further_tasks_.size() - 1);
  task.rank = parent.rank;
  task.further = std::make_unique<FurtherContext>();
  task.further->name = std::move(name);
  task.further->body = std::move(body);
  ++tasks_left_;
  ++progress_;
  if (is_parallel_) {
    ++running_;
    start_parallel_thread(task);
  } else {
    runnable_.reserve(task.id + 1);
    runnable_.insert(task.id);
  }
  return task;
}

void Engine::freeze(RankState& rank) {
  const auto freeze_task = [this, &rank](Task& task) {
    if (task.rank != &rank || task.is_done || task.is_frozen) return;
    task.is_frozen = true;
    task.wait = nullptr;  // nobody wakes what does not wait
    if (runnable_.contains(task.id)) runnable_.remove(task.id);
    std::erase(polling_, task.id);
    ++frozen_left_;
  };
  freeze_task(tasks_[static_cast<std::size_t>(rank.rank)]);
  for (Task& task : further_tasks_) freeze_task(task);
  ++progress_;
}

void Engine::stay_frozen(Task& self) {
  suspend(self);
  leave(self);
}

void Engine::restart(int rank) {
  RankState& state = rank_state(rank);
  ++state.incarnation;
  Task& task = start_context(tasks_[static_cast<std::size_t>(rank)],
                             fmt::format("incarnation {}", state.incarnation), {});
  task.further->body = [this, &task] { run_rank_program(task); };
}

bool Engine::only_frozen_are_left() const noexcept {
  return frozen_left_ > 0 && frozen_left_ == tasks_left_ && !faults_->will_restart();
}

std::vector<const Task*> Engine::live_tasks() const {
  std::vector<const Task*> live;
  for (const Task& task : tasks_)
    if (!task.is_done && !task.is_frozen) live.push_back(&task);
  for (const Task& task : further_tasks_)
    if (!task.is_done && !task.is_frozen) live.push_back(&task);
  std::stable_sort(live.begin(), live.end(),
                   [](const Task* a, const Task* b) { return a->rank->rank < b->rank->rank; });
  return live;
}

// -- When nobody can run
// -----------------------------------------------------------------------------

void Engine::on_idle() {
  GANGSIM_INVARIANT(!is_over_, "a context is left that nothing can end");
  if (only_frozen_are_left()) return end_run(outcome_);
  if (retry_polls_after_progress()) return;
  if (let_time_pass()) return;
  if (++fruitless_rounds_ <= most_fruitless_rounds && retry_polls()) return;
  give_verdict();
}

bool Engine::retry_polls_after_progress() {
  if (progress_ == polled_at_ || !retry_polls()) return false;
  polled_at_ = progress_;
  fruitless_rounds_ = 0;
  return true;
}

bool Engine::retry_polls() {
  if (polling_.empty()) return false;
  for (const TaskId id : polling_) let_go_on(task(id));
  polling_.clear();
  return true;
}

bool Engine::timeouts_fire() const noexcept {
  return options_.pending_timeouts == PendingTimeouts::fire ||
         (faults_ != nullptr && faults_->have_fired());
}

std::optional<TimePoint> Engine::next_event() {
  const std::optional<TimePoint> wake_up = events_.next_time();
  if (faults_ == nullptr || faults_->next_event() == TimePoint::max()) return wake_up;
  return std::min(wake_up.value_or(TimePoint::max()), faults_->next_event());
}

bool Engine::let_time_pass() {
  const std::optional<TimePoint> event = next_event();
  if (!event && !timeouts_fire()) return false;
  const TimePoint limit = event.value_or(TimePoint::max());
  TimePoint next = limit;
  if (deadline_bound_ < limit) {
    deadline_bound_ = earliest_deadline();
    if (deadline_bound_ < limit) {
      if (searches_while_others_run() && search_while_others_run()) return true;
      next = deadline_bound_;
    }
  }
  if (next == TimePoint::max() && !event) return false;
  if (faults_ != nullptr && faults_->next_trigger() <= next) {
    advance_to(faults_->next_trigger());
    faults_->act();
    return true;
  }
  advance_to(next);
  if (next == limit) return happen(next), true;
  note_choice_point();
  time_out();
  deadline_bound_ = earliest_deadline();
  return true;
}

void Engine::happen(TimePoint time) {
  if (faults_ != nullptr && faults_->next_event() <= time) faults_->act();
  while (events_.next_time() == time) wake(events_.pop());
}

TimePoint Engine::earliest_deadline() const {
  TimePoint earliest = matching_->earliest_deadline();
  const auto look = [&earliest](const Task& task) {
    if (task.wait != nullptr) earliest = std::min(earliest, task.wait->deadline);
  };
  for (const Task& task : tasks_) look(task);
  for (const Task& task : further_tasks_) look(task);
  return earliest;
}

void Engine::time_out() {
  matching_->time_out_operations();
  const TimePoint time = now();
  const auto look = [this, time](Task& task) {
    if (task.wait != nullptr && task.wait->deadline <= time) wake(task);
  };
  for (Task& task : tasks_) look(task);
  for (Task& task : further_tasks_) look(task);
}

void Engine::advance_to(TimePoint time) {
  if (is_parallel_) {
    const TimePoint passed = parallel_now();
    if (time > passed) skipped_ += time - passed;
  } else {
    now_ = std::max(now_, time);
  }
  ++progress_;
}

void Engine::give_verdict() {
  if (!matching_->fail_mismatched_operations()) end_with_verdict(Moment::at_rest);
}

void Engine::end_with_verdict(Moment moment) {
  DeadlockVerdict verdict = report_deadlock(*this, moment);
  blocked_ = std::move(verdict.blocked);
  certainty_ = std::move(verdict.certainty);
  want_call_stacks();
  end_run(Outcome::deadlock);
}

void Engine::want_call_stacks() {
  constexpr std::size_t most_stacks = 32;
  if (options_.call_stacks == Recording::off) return;
  std::vector<std::size_t> order(blocked_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [this](std::size_t i) { return blocked_[i].is_core; });
  std::set<std::pair<std::string_view, std::string_view>> groups;
  for (const std::size_t i : order) {
    const BlockedCall& call = blocked_[i];
    if (wanted_stacks_.size() == most_stacks) break;
    if (!groups.emplace(call.operation, call.location).second) continue;
    const Task* blocked = &tasks_[static_cast<std::size_t>(call.rank)];
    if (!call.context.empty())
      for (const Task& further : further_tasks_)
        if (further.rank->rank == call.rank && further.further->name == call.context)
          blocked = &further;
    wanted_stacks_[blocked->id].blocked = i;
  }
}

void Engine::leave(const Task& self) {
  const auto wanted = wanted_stacks_.find(self.id);
  if (wanted != wanted_stacks_.end() && wanted->second.addresses.empty())
    wanted->second.addresses = walk_call_stack();
  throw RunOver{};
}

void Engine::name_call_stacks() {
  for (const auto& [id, wanted] : wanted_stacks_)
    blocked_[wanted.blocked].call_stack = describe_call_stack(wanted.addresses);
}

void Engine::end_run(Outcome outcome) {
  outcome_ = outcome;
  is_over_ = true;
  retry_polls();
  const auto let_end = [this](Task& task) {
    if (!task.is_frozen) return wake(task);
    if (!task.is_done) runnable_.insert(task.id);
  };
  for (Task& task : tasks_) let_end(task);
  for (Task& task : further_tasks_) let_end(task);
}

void Engine::check_replayed_to_the_end() {
  if (!options_.replay || asked_ == options_.replay->choices.size()) return;
  if (outcome_ == Outcome::diverged || outcome_ == Outcome::step_limit) return;
  divergence_ = fmt::format("step {}: the run has ended; the schedule has {} steps", asked_,
                            options_.replay->choices.size());
  outcome_ = Outcome::diverged;
}

Report Engine::examine() {
  check_running();
  FindingLog log;
  std::swap(log, findings_);
  DeadlockVerdict verdict = report_deadlock(*this, Moment::while_others_run);
  std::swap(log, findings_);
  Report report;
  report.outcome = verdict.blocked.empty() ? Outcome::completed : Outcome::deadlock;
  report.findings = log.take();
  report.blocked = std::move(verdict.blocked);
  report.certainty = std::move(verdict.certainty);
  report.counts = counts_;
  report.virtual_time = now();
  return report;
}

void Engine::note_faults(Report& report) const {
  if (faults_ == nullptr) return;
  report.fault_plan = options_.faults;
  report.faults = faults_->fired();
  if (report.faults.empty()) return;
  const std::string causes = only_because_of(report.faults);
  for (Finding& finding : report.findings) finding.certainty = causes;
  if (!report.certainty.empty()) report.certainty = causes;
}

Report Engine::make_report() {
  if (outcome_ == Outcome::completed || outcome_ == Outcome::failed) {
    matching_->report_unreceived();
    report_open_gangs(*this);
  }
  check_replayed_to_the_end();
  name_call_stacks();
  for (RankState& rank : ranks_) detach_gangs(rank);
  Report report;
  report.outcome = outcome_;
  report.findings = findings_.take();
  report.blocked = std::move(blocked_);
  report.certainty = std::move(certainty_);
  report.divergence = std::move(divergence_);
  report.race_candidates = matching_->messages().take_race_candidates();
  report.forced_receive_completed = forced_receive_completed_;
  report.schedule = std::move(recorded_);
  report.trace = recorder_.take(!is_parallel_);
  report.counts = counts_;
  report.virtual_time = is_parallel_ ? parallel_now() : now_;
  note_faults(report);
  report.timeline = recorder_.take_timeline(report.virtual_time);
  matching_->release_gangs();
  root_.reset();
  spare_root_.reset();
  report.wall_time = wall_clock_.elapsed();
  // Whatever comes now comes from outside.
  is_over_ = true;
  current_ = &outside_;
  for (Task& task : further_tasks_) task.further->body = nullptr;
  return report;
}

}  // namespace gang::sim
