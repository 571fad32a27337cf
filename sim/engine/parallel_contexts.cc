// The part of the engine that runs ranks on truly concurrent OS threads.
#include "sim/engine/engine.h"

namespace gang::sim {
namespace {

thread_local Task* running_task = nullptr;

}  // namespace

Task& Engine::parallel_current() const noexcept { return *running_task; }

TimePoint Engine::parallel_now() const noexcept { return wall_clock_.elapsed() + skipped_; }

void Engine::run_ranks_parallel() {
  {
    Guard guard(*this);
    running_ = tasks_.size();
    for (Task& task : tasks_) start_parallel_thread(task);
  }
  all_done_.acquire();
  Guard guard(*this);  // the last one may still hold it
  running_task = &outside_;
}

void Engine::start_parallel_thread(Task& task) {
  while (carriers_.size() <= task.id) carriers_.emplace_back();
  task.is_started = true;
  carriers_[task.id].thread = std::jthread([this, &task] {
    running_task = &task;
    set_rank_locals(task.locals());
    run_body(task);
    task_ended(task);
  });
}

void Engine::stop_running() {
  --running_;
  retry_polls_after_progress();
  while (running_ == 0) on_idle();
}

void Engine::suspend_parallel(Task& self) {
  ParallelCarrier& carrier = carriers_[self.id];
  stop_running();
  mutex_.unlock();
  carrier.wakes.acquire();
  mutex_.lock();
}

}  // namespace gang::sim
