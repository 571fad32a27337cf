#include "sim/engine/parallel_contexts.h"

#include "sim/engine/engine.h"

namespace gang::sim {
namespace {

thread_local Task* running_task = nullptr;

}  // namespace

Task& ParallelContexts::current() noexcept { return *running_task; }

void ParallelContexts::run() {
  {
    const std::lock_guard lock(mutex_);
    engine_.contexts().for_each([this](Task& task) { start(task); });
  }
  all_ended_.acquire();
  const std::lock_guard lock(mutex_);  // the last one may still hold it
  running_task = &engine_.contexts().outside();
}

void ParallelContexts::start(Task& task) {
  while (carriers_.size() <= task.id) carriers_.emplace_back();
  ++running_;
  carriers_[task.id].thread = std::jthread([this, &task] {
    running_task = &task;
    set_rank_locals(task.locals);
    engine_.live(task);
  });
}

void ParallelContexts::wake(Task& task) {
  ++running_;
  carriers_[task.id].wakes.release();
}

void ParallelContexts::ended() {
  if (engine_.contexts().left() == 0)
    all_ended_.release();
  else
    stop_running();
}

void ParallelContexts::detach(Task& self) { carriers_[self.id].thread.detach(); }

void ParallelContexts::stop_running() {
  --running_;
  if (engine_.polls_.may_succeed()) engine_.resume(engine_.polls_.waiting());
  while (running_ == 0) engine_.on_idle();
}

void ParallelContexts::suspend(Task& self) {
  ParallelCarrier& carrier = carriers_[self.id];
  stop_running();
  mutex_.unlock();
  carrier.wakes.acquire();
  mutex_.lock();
}

}  // namespace gang::sim
