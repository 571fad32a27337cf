#include "sim/run.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/backends/root_gangs.h"
#include "sim/engine/simulated_runtime.h"
#include "sim/matching/sim_gang.h"
#include "sim/matching/sim_work.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/failure.h"

namespace gang::sim {
namespace {

// A gang of all ranks.
GangInfo root_gang_info(const SimulationOptions& options) {
  GangInfo info;
  info.name = "root";
  info.size = options.world_size;
  info.timeout = options.timeout;
  info.backend = "sim";
  info.root_ranks.resize(static_cast<std::size_t>(info.size));
  std::iota(info.root_ranks.begin(), info.root_ranks.end(), 0);
  return info;
}

}  // namespace

Run::Run(const SimulationOptions& options, const RankProgram& program)
    : options_(options),
      program_(program),
      ranks_(static_cast<std::size_t>(options.world_size)),
      recorder_(options),
      engine_(options, ranks_, *this),
      reduction_pool_(options.reduction_threads),
      runtime_(make_simulated_runtime(engine_, *this)),
      world_{.options = options,
             .engine = engine_,
             .ranks = ranks_,
             .counts = counts_,
             .findings = findings_,
             .recorder = recorder_,
             .matching = matching_,
             .diagnosis = diagnosis_,
             .runtime = *runtime_,
             .reduction_pool = reduction_pool_},
      diagnosis_(world_),
      matching_(world_) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].rank = static_cast<int>(i);
  if (options.faults) {
    faults_ = std::make_unique<FaultInjector>(world_, *options.faults,
                                              [this](int rank) { restart(rank); });
    world_.interference = faults_.get();
  }
  world_.root = matching_.make_gang(root_gang_info(options_));
  foreign_gangs_ = make_root_gangs(world_);
  world_.foreign_gangs = foreign_gangs_.get();
}

Run::~Run() {
  // Gangs notify the matching engine when they are destroyed.
  foreign_gangs_.reset();
  second_root_.reset();
  world_.root.reset();
}

Report Run::run() {
  engine_.run();
  return make_report();
}

// -- Programs --

std::shared_ptr<Gang> Run::root_gang_of(const Task& task) {
  if (foreign_gangs_) return foreign_gangs_->make(task.rank->rank);
  return std::make_shared<SimGang>(world_, world_.root, task.rank->rank, *task.rank);
}

std::shared_ptr<Gang> Run::second_root() {
  if (!second_root_) second_root_ = matching_.make_gang(root_gang_info(options_));
  RankState& rank = *engine_.current().rank;
  return std::make_shared<SimGang>(world_, second_root_, rank.rank, rank);
}

void Run::run_program(Task& task) noexcept {
  try {
    if (faults_ != nullptr) faults_->begin_program(task);
    SimulatedRank rank(*this, task.rank->rank, root_gang_of(task), task.rank->incarnation);
    program_(rank);
    const Engine::Guard guard(engine_);
    // What a former incarnation has left went with it.
    if (!engine_.is_over() && task.rank->incarnation == 0) report_outliving_works(*task.rank);
  } catch (const RunOver&) {
  } catch (...) {
    const Engine::Guard guard(engine_);
    if (!engine_.is_over()) context_failed(task, std::current_exception());
  }
}

void Run::context_began(const Task& task) {
  recorder_.task(TraceEventKind::task_start, task, engine_.now());
}

void Run::context_ended(const Task& task) {
  if (!task.further) {
    task.rank->has_returned = true;
    if (!engine_.is_over()) matching_.rank_gone(task.rank->rank);
  }
  if (!engine_.is_over()) recorder_.task(TraceEventKind::task_end, task, engine_.now());
}

void Run::context_failed(Task& task, const std::exception_ptr& error) {
  if (outcome_ == Outcome::completed) outcome_ = Outcome::failed;
  report_rank_failure(world_, task, error);
}

void Run::restart(int rank) {
  RankState& state = world_.rank(rank);
  ++state.incarnation;
  Task& task = engine_.start_context(state, fmt::format("incarnation {}", state.incarnation), {});
  task.further->body = [this, &task] { run_program(task); };
}

Duration Run::stretched(Duration sleep, const Task& task) {
  return faults_ == nullptr ? sleep : faults_->stretched(sleep, task.rank->rank);
}

// -- When no context can run --

bool Run::only_frozen_are_left() noexcept {
  const ContextTable& contexts = engine_.contexts();
  return contexts.frozen() > 0 && contexts.frozen() == contexts.left() && !faults_->will_restart();
}

bool Run::timeouts_fire() const noexcept {
  return options_.pending_timeouts == PendingTimeouts::fire ||
         (faults_ != nullptr && faults_->have_fired());
}

std::optional<TimePoint> Run::next_event() {
  const std::optional<TimePoint> wake_up = engine_.clock().events().next_time();
  if (faults_ == nullptr || faults_->next_event() == TimePoint::max()) return wake_up;
  return std::min(wake_up.value_or(TimePoint::max()), faults_->next_event());
}

bool Run::let_time_pass() {
  if (only_frozen_are_left()) return end(outcome_), true;
  const std::optional<TimePoint> event = next_event();
  if (!event && !timeouts_fire()) return false;
  Clock& clock = engine_.clock();
  const TimePoint limit = event.value_or(TimePoint::max());
  TimePoint next = limit;
  if (clock.deadline_bound() < limit) {
    clock.set_deadline_bound(earliest_deadline());
    if (clock.deadline_bound() < limit) {
      if (searches_while_others_run(options_) && finds_deadlock_while_others_run()) return true;
      next = clock.deadline_bound();
    }
  }
  if (next == TimePoint::max() && !event) return false;
  if (faults_ != nullptr && faults_->next_trigger() <= next) {
    advance_to(faults_->next_trigger());
    faults_->act();
    return true;
  }
  advance_to(next);
  if (next == limit) return process_due_events(next), true;
  engine_.choices().note_choice_point();
  time_out();
  clock.set_deadline_bound(earliest_deadline());
  return true;
}

void Run::process_due_events(TimePoint time) {
  if (faults_ != nullptr && faults_->next_event() <= time) faults_->act();
  EventQueue& events = engine_.clock().events();
  while (events.next_time() == time) engine_.wake(events.pop());
}

TimePoint Run::earliest_deadline() {
  TimePoint earliest = matching_.deadlines().earliest();
  engine_.contexts().for_each([&earliest](const Task& task) {
    if (task.wait != nullptr) earliest = std::min(earliest, task.wait->deadline);
  });
  return earliest;
}

void Run::time_out() {
  matching_.deadlines().time_out_operations();
  const TimePoint now = engine_.now();
  engine_.contexts().for_each([this, now](Task& task) {
    if (task.wait != nullptr && task.wait->deadline <= now) engine_.wake(task);
  });
}

void Run::advance_to(TimePoint time) {
  engine_.clock().advance_to(time);
  engine_.note_progress();
}

// -- The verdict --

void Run::give_verdict() {
  if (!matching_.fail_mismatched_operations()) end_with_verdict(Moment::at_rest);
}

void Run::search() { finds_deadlock_while_others_run(); }

// If it does, it has ended the run, or a gang.
bool Run::finds_deadlock_while_others_run() {
  const BlockedWorld blocked(world_, Moment::while_others_run);
  if (blocked.dead_contexts().empty()) return false;
  if (!matching_.fail_mismatched_operations()) end_with_verdict(Moment::while_others_run);
  return true;
}

void Run::end_with_verdict(Moment moment) {
  verdict_ = reach_verdict(world_, moment);
  if (options_.call_stacks == Recording::on)
    call_stacks_.want(verdict_.blocked, engine_.contexts());
  end(Outcome::deadlock);
}

void Run::end(Outcome outcome) {
  outcome_ = outcome;
  engine_.end_run();
}

Report Run::examine() {
  engine_.check_running();
  Verdict verdict = reach_verdict(world_, Moment::while_others_run);
  Report report;
  report.outcome = verdict.blocked.empty() ? Outcome::completed : Outcome::deadlock;
  report.findings = std::move(verdict.findings);
  report.blocked = std::move(verdict.blocked);
  report.certainty = std::move(verdict.certainty);
  report.counts = counts_;
  report.virtual_time = engine_.now();
  return report;
}

// -- The report --

void Run::note_faults(Report& report) const {
  if (faults_ == nullptr) return;
  report.fault_plan = options_.faults;
  report.faults = faults_->fired();
  if (report.faults.empty()) return;
  // Whether they are the cause, a run without them shows.
  for (Finding& finding : report.findings) {
    if (!finding.certainty) finding.certainty.emplace();
    finding.certainty->faults = Dependence::open;
  }
  if (report.certainty) report.certainty->faults = Dependence::open;
}

Report Run::make_report() {
  if (outcome_ == Outcome::completed || outcome_ == Outcome::failed) {
    for (const GangState* gang : matching_.gangs()) diagnosis_.unreceived(*gang);
    report_open_gangs(world_);
  }
  Choices& choices = engine_.choices();
  if (outcome_ != Outcome::diverged && outcome_ != Outcome::step_limit) {
    choices.check_replayed_to_the_end();
    if (!choices.divergence().empty()) outcome_ = Outcome::diverged;
  }
  call_stacks_.describe(verdict_.blocked);
  for (RankState& rank : ranks_) detach_gangs(rank);
  for (Finding& finding : verdict_.findings) findings_.add(std::move(finding));
  Report report;
  report.outcome = outcome_;
  report.findings = findings_.take();
  report.blocked = std::move(verdict_.blocked);
  report.certainty = std::move(verdict_.certainty);
  report.divergence = choices.divergence();
  report.race_candidates = matching_.messages().take_race_candidates();
  report.forced_receive_completed = matching_.messages().forced_receive_completed();
  report.schedule = choices.take_schedule();
  report.trace = recorder_.take(options_.context != ContextKind::parallel);
  report.counts = counts_;
  report.counts.switches = engine_.switches();
  report.counts.choices = choices.counted();
  report.virtual_time = engine_.now();
  note_faults(report);
  report.timeline = recorder_.take_timeline(report.virtual_time);
  matching_.release_gangs();
  world_.root.reset();
  second_root_.reset();
  report.wall_time = engine_.clock().elapsed();
  engine_.contexts().release_bodies();
  return report;
}

}  // namespace gang::sim
