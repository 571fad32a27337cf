#include "sim/engine/engine.h"

#include <utility>

#include "gang/error.h"
#include "sim/contexts/invariant.h"
#include "sim/schedule/guide.h"

namespace gang::sim {
Engine::Engine(const SimulationOptions& options, std::span<RankState> ranks, EngineClient& client)
    : options_(options),
      client_(client),
      parallel_(options.context == ContextKind::parallel ? std::make_unique<ParallelContexts>(*this)
                                                         : nullptr),
      contexts_(ranks),
      ends_(*this),
      choices_(options),
      steps_(options, ranks.size()),
      clock_(options.context == ContextKind::parallel) {
  expects_ =
      options.context == ContextKind::fiber && !choices_.asks_scheduler() && ranks.size() > 512;
  runnable_.reserve(ranks.size());
}

Engine::~Engine() = default;

void Engine::run() {
  clock_.start();
  choices_.begin_run(options_.world_size);
  Task& outside = contexts_.outside();
  if (parallel_ != nullptr) {
    parallel_->run();
  } else {
    if (options_.context == ContextKind::fiber) {
      auto fibers =
          std::make_unique<FiberSwitcher>(*this, options_.stack_bytes, contexts_.world_size());
      fibers_ = fibers.get();
      switcher_ = std::move(fibers);
    } else {
      switcher_ = make_thread_switcher(*this);
    }
    const TerminationScope scope(ends_);
    for (TaskId id = 0; id < contexts_.world_size(); ++id) runnable_.insert(id);
    Task& first = pick_next(outside_task);
    is_plain_ = choices_.are_plain() && !is_over_;
    are_calls_plain_ = is_plain_ && fibers_ != nullptr && client_.are_calls_plain();
    switch_to(outside, first);
    fibers_ = nullptr;
    switcher_.reset();
    set_rank_locals(nullptr);
  }
  // From here on, calls come from outside.
  is_over_ = true;
  are_calls_plain_ = false;
  current_ = &outside;
}

void Engine::scheduling_point() {
  if (!choices_.switches_everywhere() || is_over_ || parallel_ != nullptr) return;
  Task& self = current();
  if (choices_.goes_on(self.id) && !steps_.stops_next()) {
    steps_.step();
    const std::size_t runnable = runnable_.size() + 1;
    choices_.count(runnable);
    if (runnable > 1) choices_.record(self.id, runnable);
    return;
  }
  runnable_.insert(self.id);
  Task& next = pick_next(self.id);
  if (&next != &self) switch_to(self, next);
}

void Engine::poll(PendingOperation* pending) {
  check_running();
  Task& self = current();
  const bool has_asked_time = self.rare().has_asked_time;
  if (has_asked_time) {
    choices_.note_choice_point(Unguided::clock);
    self.make_rare().has_asked_time = false;
  }
  polls_.add(self.id, has_asked_time);
  self.is_polling = true;
  block(self, Wait{Wait::Reason::poll, pending});
}

// Which of those that can run does, where this does not follow from their ids alone.
TaskId Engine::choose(TaskId after) {
  const std::size_t runnable = runnable_.size();
  TaskId chosen = no_task;
  if (choices_.are_made_by_scheduler(runnable) && !is_over_) {
    chosen = choices_.ask(runnable_, after);
    if (chosen == no_task) client_.schedule_diverged();
  }
  // Once the run is over, the youngest contexts end first, while the contexts that started them,
  // and what they use of those, still exist.
  if (chosen == no_task && is_over_ && contexts_.has_further()) chosen = runnable_.last();
  if (chosen == no_task)
    chosen = after == outside_task ? runnable_.first() : runnable_.next_after(after);
  if (runnable > 1 && !is_over_) choices_.record(chosen, runnable);
  if (choices_.are_watched() && !is_over_) choices_.guide()->watch(chosen);
  return chosen;
}

void Engine::stop() {
  if (is_over_) return;
  if (steps_.is_past_limit()) return client_.step_limit_reached();
  steps_.plan(contexts_.left());
  client_.search();
}

Task& Engine::run_task(Task& task) noexcept {
  live(task);
  return ends_.make_way(task);
}

void Engine::live(Task& task) noexcept {
  const TerminationScope scope(ends_);
  bool begins = false;
  {
    Guard guard(*this);
    begins = !is_over_;
    if (begins) client_.context_began(task);
  }
  if (!task.further) {
    if (begins) client_.run_program(task);
  } else {
    try {
      if (begins) task.further->body();
    } catch (const RunOver&) {
    } catch (...) {
      task.further->error = std::current_exception();
    }
    if (begins) task.further->body = nullptr;
  }
  Guard guard(*this);
  ends_.end(task);
}

Task& Engine::start_context(RankState& rank, std::string name, std::function<void()> body,
                            bool is_of_gangs) {
  check_running();
  choices_.note_guided_choice();
  (is_of_gangs ? rank.has_gang_threads : rank.has_threads) = true;
  Task& task = contexts_.add(rank, std::move(name), std::move(body));
  task.further->is_of_gangs = is_of_gangs;
  polls_.note_progress();
  if (Guide* guide = choices_.guide()) guide->started(task.id, task.further->name);
  if (parallel_ != nullptr) {
    parallel_->start(task);
  } else {
    runnable_.reserve(task.id + 1);
    runnable_.insert(task.id);
  }
  return task;
}

void Engine::freeze(const RankState& rank) {
  contexts_.for_each([this, &rank](Task& task) {
    if (task.rank != &rank || task.is_done || task.is_frozen) return;
    contexts_.note_frozen(task);
    task.wait = nullptr;  // prevents wake-ups
    if (runnable_.contains(task.id)) runnable_.remove(task.id);
    polls_.remove(task);
  });
  polls_.note_progress();
}

void Engine::on_idle() {
  GANGSIM_INVARIANT(!is_over_, "a context is left that nothing can end");
  if (client_.let_devices_go_on()) return;
  if (Guide* guide = choices_.guide()) guide->rests();
  if (polls_.may_succeed() && resume(polls_.waiting())) return;
  if (resume(outside_waits_)) return;
  choices_.set_at_rest(polls_.waiting().empty());
  const bool has_passed = client_.let_time_pass();
  choices_.set_at_rest(false);
  if (has_passed) return;
  if (polls_.may_retry_in_vain()) {
    if (polls_.watch_clock()) client_.pass_time(polls_.time_of_round());
    if (resume(polls_.waiting())) return;
  }
  // A context that polls might stop some time, and do more.
  choices_.set_at_rest(polls_.waiting().empty());
  client_.give_verdict();
  choices_.set_at_rest(false);
}

// Makes those runnable that still wait; whether there is one.
bool Engine::resume(std::vector<TaskId>& waiting) {
  bool has_resumed = false;
  for (const TaskId id : waiting) {
    contexts_[id].is_polling = false;
    if (contexts_[id].wait == nullptr) continue;
    wake_after_progress(contexts_[id]);
    has_resumed = true;
  }
  waiting.clear();
  return has_resumed;
}

void Engine::end_run() {
  is_over_ = true;
  is_plain_ = are_calls_plain_ = false;
  resume(polls_.waiting());
  contexts_.for_each([this](Task& task) {
    if (!task.is_frozen) return wake(task);
    if (!task.is_done) runnable_.insert(task.id);
  });
}

void wait_outside(Engine& engine) {
  GANGSIM_INVARIANT(engine.parallel_ == nullptr, "parallel contexts wait outside");
  engine.check_running();
  Task& self = engine.current();
  engine.polls_.note_processes();
  engine.outside_waits_.push_back(self.id);
  engine.block(self, Wait{Wait::Reason::outside});
}

void await_turn(Engine& engine) {
  if (!engine.choices_.looks_at_once()) return wait_outside(engine);
  engine.check_running();
  engine.polls_.note_processes();
}

bool others_can_run(const Engine& engine) noexcept { return !engine.runnable_.empty(); }

void yield_in(Engine& engine) {
  engine.check_running();
  const Task& self = engine.current();
  if (!self.rare().has_asked_time)
    engine.choices().note_choice_point(self.rank->has_threads ? Unguided::shared_memory
                                                              : Unguided::many_polls);
  engine.poll(nullptr);
}

void sleep_in(Engine& engine, Duration duration) {
  if (duration == Duration::zero()) return;
  Task& self = engine.current();
  const TimePoint now = engine.now();
  const TimePoint end = deadline_after(now, duration);
  do {
    engine.clock().wake_at(end, self);
    engine.block(self, Wait{Wait::Reason::sleep});
  } while (engine.now() < end);
}

void throw_foreign_thread(std::string_view what) {
  throw InvalidOperation(std::string(what) +
                         " was used by a thread that the simulation did not start; start threads "
                         "with Runtime::start_thread");
}

void throw_ended(std::string_view what) {
  throw InvalidOperation(std::string(what) + " was used after the end of its simulation");
}

}  // namespace gang::sim
