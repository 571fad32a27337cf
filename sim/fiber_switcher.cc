#include <cxxabi.h>

#include <cstring>
#include <map>
#include <vector>

#include <boost/context/fiber.hpp>

#include "sim/context_switcher.h"
#include "sim/rank_state.h"
#include "sim/stack_pool.h"

namespace gang::sim {
namespace {

namespace context = boost::context;

// The pool of the calling thread. Kept between runs: mapping and guarding stacks costs more than a
// small run does. Large runs have a pool of their own, which goes with them.
StackPool& pool_of_this_thread(std::size_t stack_bytes) {
  thread_local std::map<std::size_t, StackPool> pools;
  return pools.try_emplace(stack_bytes, stack_bytes).first->second;
}

// Boost's stack allocator concept over a StackPool.
class PooledStack {
 public:
  explicit PooledStack(StackPool& pool) noexcept : pool_(&pool) {}

  context::stack_context allocate() {
    context::stack_context stack;
    stack.sp = pool_->take();
    stack.size = pool_->stack_bytes();
    return stack;
  }

  void deallocate(context::stack_context& stack) noexcept { pool_->give_back(stack.sp); }

 private:
  StackPool* pool_;
};

class FiberSwitcher final : public ContextSwitcher {
 public:
  FiberSwitcher(TaskRunner& runner, std::size_t stack_bytes, std::size_t expected_tasks)
      : runner_(runner), exception_state_(abi::__cxa_get_globals()) {
    constexpr std::size_t most_kept = 1024;
    if (expected_tasks > most_kept) {
      own_pool_ = std::make_unique<StackPool>(stack_bytes);
      own_pool_->reserve(expected_tasks);
    }
    pool_ = own_pool_ ? own_pool_.get() : &pool_of_this_thread(stack_bytes);
    fibers_.resize(expected_tasks);
    // Small worlds stay in the caches anyway.
    if (expected_tasks > 512) frames_.resize(expected_tasks);
  }

  // Brings the top of the task's stack into the caches: in a large world it has left them since the
  // task last ran, and waiting for it would be most of the cost of a switch.
  void expect(TaskId task) noexcept override {
    if (task >= frames_.size() || frames_[task] == nullptr) return;
    constexpr std::ptrdiff_t line_bytes = 64;
    const std::byte* frame = frames_[task] - 3 * line_bytes;
    for (std::ptrdiff_t line = 0; line < lines_expected; ++line)
      __builtin_prefetch(frame + line * line_bytes, 1);
  }

  void switch_to(Task& from, Task& to) override {
    context::fiber& target = prepare(to);
    std::memcpy(from.exception_state.data(), exception_state_, sizeof from.exception_state);
    std::memcpy(exception_state_, to.exception_state.data(), sizeof to.exception_state);
    previous_ = &from;
    if (from.id < frames_.size())
      frames_[from.id] = static_cast<const std::byte*>(__builtin_frame_address(0));
    arrive(std::move(target).resume());
  }

 private:
  context::fiber& fiber_of(const Task& task) {
    if (task.id == outside_task) return outside_;
    if (task.id >= fibers_.size()) fibers_.resize(task.id + 1);
    return fibers_[task.id];
  }

  // Keeps the context that has just been left, unless it has ended.
  void arrive(context::fiber&& left) noexcept {
    if (left) fiber_of(*previous_) = std::move(left);
  }

  context::fiber& prepare(Task& task) {
    set_rank_locals(task.rank != nullptr ? &task.rank->locals : nullptr);
    context::fiber& fiber = fiber_of(task);
    if (task.is_started || task.id == outside_task) return fiber;
    task.is_started = true;
    fiber = context::fiber(
        std::allocator_arg, PooledStack(*pool_), [this, &task](context::fiber&& left) {
          arrive(std::move(left));
          Task& next = runner_.run_task(task);
          context::fiber& target = prepare(next);
          std::memcpy(exception_state_, next.exception_state.data(), sizeof next.exception_state);
          return std::move(target);
        });
    return fiber;
  }

  static constexpr std::ptrdiff_t lines_expected = 20;

  TaskRunner& runner_;
  // Two words per OS thread: the exceptions being handled and how many are in flight. They belong
  // to the fiber, since a switch may happen inside a catch block. Source: Itanium C++ ABI, 2.2.2.
  void* exception_state_;
  std::unique_ptr<StackPool> own_pool_;
  StackPool* pool_ = nullptr;
  std::vector<context::fiber> fibers_;
  std::vector<const std::byte*> frames_;  // where the stack of each switched-out task ends
  context::fiber outside_;
  Task* previous_ = nullptr;
};

}  // namespace

std::unique_ptr<ContextSwitcher> make_fiber_switcher(TaskRunner& runner, std::size_t stack_bytes,
                                                     std::size_t expected_tasks) {
  return std::make_unique<FiberSwitcher>(runner, stack_bytes, expected_tasks);
}

}  // namespace gang::sim
