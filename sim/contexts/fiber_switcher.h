// Contexts on fibers: the fast path of the engine, inline.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include <boost/context/fiber.hpp>

#include "sim/contexts/context_switcher.h"
#include "sim/contexts/stack_pool.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

// Balances the processor's stack of return addresses, from which it predicts where returns lead.
// A switch is called, but leaves by a jump: that stack keeps an entry too many, and each of the
// returns that follow would be predicted from the entry of the one before. The return here takes it
// off: one wrong prediction instead of several. Shadow stacks (CET) allow no such return.
[[gnu::always_inline]] inline void take_off_return_address() noexcept {
#if defined(__x86_64__) && !defined(__CET__)
  asm volatile("leaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tret\n1:" : : : "rax", "memory");
#endif
}

// Contexts on stacks of their own, on the OS thread that made this.
class FiberSwitcher final : public ContextSwitcher {
 public:
  // On stacks of `stack_bytes`; `expected_tasks` is a hint.
  FiberSwitcher(TaskRunner& runner, std::size_t stack_bytes, std::size_t expected_tasks);
  ~FiberSwitcher() override;
  FiberSwitcher(const FiberSwitcher&) = delete;
  FiberSwitcher& operator=(const FiberSwitcher&) = delete;

  void switch_to(Task& from, Task& to) override { jump(from, to); }

  // The same, inline: fibers mostly wait in the same calls, so that returns after a switch are
  // predicted well if those before it are.
  [[gnu::always_inline]] void jump(Task& from, Task& to) {
    if (!to.fiber) [[unlikely]]
      prepare(to);
    *locals_ = to.locals;
    std::memcpy(from.exception_state.data(), exception_state_, sizeof from.exception_state);
    std::memcpy(exception_state_, to.exception_state.data(), sizeof to.exception_state);
    previous_ = &from;
    if (!frames_.empty() && from.id < frames_.size()) [[unlikely]]
      frames_[from.id] = static_cast<const std::byte*>(__builtin_frame_address(0));
    boost::context::fiber left = std::move(to.fiber).resume();
    take_off_return_address();
    arrive(std::move(left));
  }

  [[noreturn]] void leave_behind(Task& from, Task& to) override;

  void expect(TaskId task) noexcept override;

 private:
  // Keeps the context that has just been left, unless it has ended.
  void arrive(boost::context::fiber&& left) noexcept {
    if (left) previous_->fiber = std::move(left);
  }

  // Gives a task that has not begun its fiber.
  void prepare(Task& task);

  // The whole life of a task; returns the fiber that goes on after it.
  boost::context::fiber live(Task& task);

  TaskRunner& runner_;
  // Two words per OS thread: the exceptions being handled and how many are in flight. They belong
  // to the fiber, since a switch may happen inside a catch block. Source: Itanium C++ ABI, 2.2.2.
  void* exception_state_;
  RankLocals** locals_;  // of that thread, where those of the running task belong
  std::unique_ptr<StackPool> own_pool_;
  StackPool* pool_ = nullptr;
  std::vector<const std::byte*> frames_;  // where the stack of each switched-out task ends
  Task* previous_ = nullptr;
  std::vector<Task*> left_behind_;
};

}  // namespace gang::sim
