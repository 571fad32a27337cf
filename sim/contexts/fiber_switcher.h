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

// Contexts on stacks of their own, on the OS thread that made this.
class FiberSwitcher final : public ContextSwitcher {
 public:
  // On stacks of `stack_bytes`; `expected_tasks` is a hint.
  FiberSwitcher(TaskRunner& runner, std::size_t stack_bytes, std::size_t expected_tasks);
  ~FiberSwitcher() override;
  FiberSwitcher(const FiberSwitcher&) = delete;
  FiberSwitcher& operator=(const FiberSwitcher&) = delete;

  void switch_to(Task& from, Task& to) override { jump(from, to); }

  // The same, inline: after a switch every return is predicted wrong, because the processor's stack
  // of return addresses still belongs to the fiber that was left; so few returns should follow.
  [[gnu::always_inline]] void jump(Task& from, Task& to) {
    boost::context::fiber& target = to.is_started ? fiber_of(to) : prepare(to);
    set_rank_locals(to.locals);
    std::memcpy(from.exception_state.data(), exception_state_, sizeof from.exception_state);
    std::memcpy(exception_state_, to.exception_state.data(), sizeof to.exception_state);
    previous_ = &from;
    if (from.id < frames_.size())
      frames_[from.id] = static_cast<const std::byte*>(__builtin_frame_address(0));
    arrive(std::move(target).resume());
  }

  [[noreturn]] void leave_behind(Task& from, Task& to) override;

  void expect(TaskId task) noexcept override;

 private:
  boost::context::fiber& fiber_of(const Task& task) noexcept {
    return task.id == outside_task ? outside_ : fibers_[task.id];
  }

  // Keeps the context that has just been left, unless it has ended.
  void arrive(boost::context::fiber&& left) noexcept {
    if (left) fiber_of(*previous_) = std::move(left);
  }

  boost::context::fiber& prepare(Task& task);

  // The whole life of a task; returns the fiber that goes on after it.
  boost::context::fiber live(Task& task);

  TaskRunner& runner_;
  // Two words per OS thread: the exceptions being handled and how many are in flight. They belong
  // to the fiber, since a switch may happen inside a catch block. Source: Itanium C++ ABI, 2.2.2.
  void* exception_state_;
  std::unique_ptr<StackPool> own_pool_;
  StackPool* pool_ = nullptr;
  std::vector<boost::context::fiber> fibers_;
  std::vector<const std::byte*> frames_;  // where the stack of each switched-out task ends
  boost::context::fiber outside_;
  Task* previous_ = nullptr;
  std::vector<TaskId> left_behind_;
};

}  // namespace gang::sim
