#include <deque>
#include <thread>

#include "sim/contexts/context_switcher.h"
#include "sim/contexts/parallel_carrier.h"
#include "sim/contexts/thread_semaphore.h"
#include "sim/state/rank_state.h"

namespace gang::sim {
namespace {

class ThreadSwitcher final : public ContextSwitcher {
 public:
  explicit ThreadSwitcher(TaskRunner& runner) noexcept : runner_(runner) {}

  void switch_to(Task& from, Task& to) override {
    Carrier& own = carrier_of(from);  // looked up while it is this thread's turn
    let_go_on(to);
    own.turn.acquire();
  }

  [[noreturn]] void leave_behind(Task& from, Task& to) override {
    carrier_of(from).thread.detach();
    let_go_on(to);
    sleep_forever();
  }

 private:
  struct Carrier {
    ThreadSemaphore turn;
    std::jthread thread;
  };

  // Only the thread whose turn it is comes here, so the containers need no lock.
  Carrier& carrier_of(const Task& task) {
    if (task.id == outside_task) return outside_;
    while (task.id >= carriers_.size()) carriers_.emplace_back();
    return carriers_[task.id];
  }

  void let_go_on(Task& task) {
    Carrier& carrier = carrier_of(task);
    if (!carrier.thread.joinable() && task.id != outside_task) {
      carrier.thread = std::jthread([this, &task, &carrier] {
        carrier.turn.acquire();
        set_rank_locals(task.locals);
        let_go_on(runner_.run_task(task));
      });
    }
    carrier.turn.release();
  }

  TaskRunner& runner_;
  Carrier outside_;
  std::deque<Carrier> carriers_;
};

}  // namespace

std::unique_ptr<ContextSwitcher> make_thread_switcher(TaskRunner& runner) {
  return std::make_unique<ThreadSwitcher>(runner);
}

}  // namespace gang::sim
