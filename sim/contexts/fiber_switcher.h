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
    if (!to.fiber) [[unlikely]]
      prepare(to);
    *locals_ = to.locals;
    std::memcpy(from.exception_state.data(), exception_state_, sizeof from.exception_state);
    std::memcpy(exception_state_, to.exception_state.data(), sizeof to.exception_state);
    previous_ = &from;
    if (!frames_.empty() && from.id < frames_.size()) [[unlikely]]
      frames_[from.id] = static_cast<const std::byte*>(__builtin_frame_address(0));
    arrive(std::move(to.fiber).resume());
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
