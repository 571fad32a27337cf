#include "sim/run.h"

#include <algorithm>
#include <atomic>
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

GangInfo root_gang_info(const SimulationOptions& options) {
  GangInfo info{.name = "root",
                .root_ranks = std::vector<int>(static_cast<std::size_t>(options.world_size)),
                .device = {},
                .timeout = options.timeout,
                .backend = "sim",
                .size = options.world_size};
  std::iota(info.root_ranks.begin(), info.root_ranks.end(), 0);
  return info;
}

// The first choice that a Guide is not told of, if there is one.
std::optional<Unguided> first_unguided(const SimulationOptions& options, const Choices& choices,
                                       bool depends_on_buffers) {
  if (options.backend != SimulatedBackend::sim && options.faults != nullptr)
    return Unguided::backend;
  if (depends_on_buffers || (options.sends.buffered_bytes && options.faults != nullptr))
    return Unguided::link_buffers;
  return choices.unguided();
}

std::uint64_t next_run_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Run::Run(const SimulationOptions& options, const RankProgram& program)
    : options_(options),
      program_(program),
      ranks_(static_cast<std::size_t>(options.world_size)),
      recorder_(options),
      engine_(options, ranks_, *this),
      reduction_pool_(options.reduction_threads),
      runtimes_{.of_programs = make_simulated_runtime(engine_, *this, RuntimeUser::program)},
      world_{.options = options,
             .engine = engine_,
             .ranks = ranks_,
             .counts = counts_,
             .findings = findings_,
             .recorder = recorder_,
             .matching = matching_,
             .diagnosis = diagnosis_,
             .named_gangs = named_gangs_,
             .awaiting = awaiting_,
             .runtime = *runtimes_.of_programs,
             .reduction_pool = reduction_pool_,
             .number = next_run_number()},
      diagnosis_(world_),
      matching_(world_),
      time_(world_) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].rank = static_cast<int>(i);
  if (options.faults) {
    faults_ = std::make_unique<FaultInjector>(world_, *options.faults,
                                              [this](int rank) { restart(rank); });
    world_.interference = faults_.get();
    time_.set_faults(faults_.get());
  }
  world_.root = matching_.make_gang(root_gang_info(options_));
  if (options.backend != SimulatedBackend::sim) {
    runtimes_.of_gangs = make_simulated_runtime(engine_, *this, RuntimeUser::gangs);
    world_.gangs_runtime = runtimes_.of_gangs.get();
  }
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
  const Engine::Guard guard(engine_);
  return std::allocate_shared<SimGang>(RecyclingAllocator<SimGang>(), world_.root, task.rank->rank,
                                       *task.rank);
}

std::shared_ptr<Gang> Run::second_root() {
  if (!second_root_) second_root_ = matching_.make_gang(root_gang_info(options_));
  RankState& rank = *engine_.current().rank;
  return std::make_shared<SimGang>(second_root_, rank.rank, rank);
}

void Run::run_program(Task& task) noexcept {
  try {
    if (faults_ != nullptr) faults_->begin_program(task);
    SimulatedRank rank(*this, task.rank->rank, root_gang_of(task), task.rank->incarnation);
    program_(rank);
    rank.state().reset();
    const Engine::Guard guard(engine_);
    // The work of a former incarnation ended with it.
    if (!engine_.is_over() && task.rank->incarnation == 0) report_outliving_works(*task.rank);
  } catch (const RunOver&) {
  } catch (...) {
    const Engine::Guard guard(engine_);
    if (!engine_.is_over()) context_failed(task, std::current_exception());
  }
}

bool Run::are_calls_plain() const noexcept {
  return world_.interference == nullptr && !recorder_.is_recording() &&
         options_.execution != ExecutionModel::stream_ordered;
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
  if (ending_.outcome == Outcome::completed) ending_.outcome = Outcome::failed;
  report_rank_failure(world_, task, error);
}

void Run::context_left_behind(const Task& task, LeftBehindBy why) {
  ending_.left_behind.push_back(
      {task.rank->rank, task.further ? task.further->name : std::string(), why});
  // Nobody will ever destroy them.
  for (SimWork* work = task.rank->works; work != nullptr; work = work->next_of_rank())
    work->release_buffers();
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

bool Run::let_devices_go_on() { return foreign_gangs_ != nullptr && foreign_gangs_->go_on(); }

bool Run::let_time_pass() {
  if (matching_.mismatches().fail_complete()) return true;
  if (only_frozen_are_left()) return end(ending_.outcome), true;
  if (time_.is_slept_away() && gives_verdict(Moment::naps_in_vain)) return true;
  const std::optional<TimePoint> event = time_.next_event();
  if (!event && !timeouts_fire()) return false;
  const TimePoint limit = event.value_or(TimePoint::max());
  const std::optional<TimePoint> timeout = time_.next_timeout(limit);
  if (timeout && searches_while_others_run(options_) && finds_deadlock_while_others_run())
    return true;
  if (!timeout && !event) return false;
  if (faults_ != nullptr && faults_->next_trigger() <= timeout.value_or(limit))
    time_.reach_trigger();
  else if (timeout)
    time_.reach_timeout(*timeout);
  else
    time_.reach_event(limit);
  return true;
}

// -- The verdict --

void Run::give_verdict() {
  if (!matching_.mismatches().fail_all()) end_with_verdict(Moment::at_rest);
}

void Run::search() { finds_deadlock_while_others_run(); }

// If it does, it has ended the run, or a gang.
bool Run::finds_deadlock_while_others_run() { return gives_verdict(Moment::while_others_run); }

bool Run::gives_verdict(Moment moment) {
  const BlockedWorld blocked(world_, moment);
  if (blocked.dead_contexts().empty()) return false;
  if (!matching_.mismatches().fail_all()) end_with_verdict(moment);
  return true;
}

void Run::end_with_verdict(Moment moment) {
  ending_.verdict = reach_verdict(world_, moment);
  if (options_.call_stacks == Recording::on)
    call_stacks_.want(ending_.verdict.blocked, engine_.contexts());
  end(Outcome::deadlock);
}

void Run::end(Outcome outcome) {
  ending_.outcome = outcome;
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
  // Only a run without the faults can show whether they are the cause.
  for (Finding& finding : report.findings) {
    if (!finding.certainty) finding.certainty.emplace();
    finding.certainty->faults = Dependence::open;
  }
  if (report.certainty) report.certainty->faults = Dependence::open;
}

Report Run::make_report() {
  if (ending_.outcome == Outcome::completed || ending_.outcome == Outcome::failed) {
    for (const GangState* gang : matching_.gangs()) diagnosis_.unreceived(*gang);
    report_open_gangs(world_);
  }
  Choices& choices = engine_.choices();
  if (ending_.outcome != Outcome::diverged && ending_.outcome != Outcome::step_limit) {
    choices.check_replayed_to_the_end();
    if (!choices.divergence().empty()) ending_.outcome = Outcome::diverged;
  }
  choices.set_at_rest(ending_.outcome == Outcome::completed);
  call_stacks_.describe(ending_.verdict.blocked);
  for (RankState& rank : ranks_)
    if (!rank.rare().detached.empty()) rank.make_rare().detached.clear();
  counts_.switches = engine_.switches();
  counts_.choices = choices.counted();
  std::ranges::stable_sort(ending_.left_behind, {}, &LeftBehind::rank);
  for (Finding& finding : ending_.verdict.findings) findings_.add(std::move(finding));
  std::vector<Finding> findings = findings_.take();
  std::vector<Finding> handled = diagnosis_.take_handled(findings);
  std::shared_ptr<const CallHistories> histories = recorder_.histories();
  Report report{
      .outcome = ending_.outcome,
      .findings = std::move(findings),
      .handled = std::move(handled),
      .crossed_calls = std::move(world_.crossed_calls),
      .blocked = std::move(ending_.verdict.blocked),
      .certainty = std::move(ending_.verdict.certainty),
      .schedules = choices.schedules(),
      .unguided = first_unguided(options_, choices, matching_.messages().depends_on_buffers()),
      .divergence = choices.divergence(),
      .schedule = choices.take_schedule(),
      .trace = recorder_.take(options_.context != ContextKind::parallel),
      .timeline = recorder_.take_timeline(engine_.now()),
      .histories = std::move(histories),
      .counts = counts_,
      .left_behind = std::move(ending_.left_behind),
      .virtual_time = engine_.now()};
  note_faults(report);
  matching_.release_gangs();
  world_.root.reset();
  second_root_.reset();
  engine_.contexts().release_bodies();
  return report;
}

}  // namespace gang::sim
