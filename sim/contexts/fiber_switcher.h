// Contexts on fibers: the fast path of the engine, inline.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <boost/context/detail/fcontext.hpp>

#include "gang/recycled.h"
#include "sim/contexts/context_switcher.h"
#include "sim/contexts/parallel_warmer.h"
#include "sim/contexts/stack_pool.h"
#include "sim/state/rank_state.h"

namespace gang::sim {

// Where a context that is switched out goes on.
using ResumePoint = boost::context::detail::fcontext_t;

// Leaves the calling context for that at `to`, which learns of `switcher` (not null) if it begins
// there. Returns, once another context has come back, where that one goes on. For functions that
// call others, too: these keep nothing below their stack pointer.
//
// The processor predicts where returns lead from a stack of its own. Boost's switch is called, but
// leaves by a jump, which would keep an entry too many there: each of the returns that follow would
// be predicted from the entry of the one before. So the first thing after a switch is a return that
// takes it off; that it leads to the place after the call again is what the entry predicts. Shadow
// stacks (CET) allow no such return.
[[gnu::always_inline]] inline ResumePoint switch_context(ResumePoint to, void* switcher) noexcept {
#if defined(__x86_64__) && !defined(__CET__) && !defined(__AVX512F__)
  ResumePoint left = nullptr;
  asm volatile(
      "call *jump_fcontext@GOTPCREL(%%rip)\n"
      "1:\n\t"
      "testq %%rdx, %%rdx\n\t"  // the switcher; null: here for the second time
      "jz 2f\n\t"
      "xorl %%edx, %%edx\n\t"
      "leaq 1b(%%rip), %%rcx\n\t"
      "pushq %%rcx\n\t"
      "ret\n"
      "2:"
      : "=a"(left), "+D"(to), "+S"(switcher)
      :
      : "rdx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st",
        "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory");
  return left;
#else
  return boost::context::detail::jump_fcontext(to, switcher).fctx;
#endif
}

// About where the stack of the caller ends.
[[gnu::always_inline]] inline const std::byte* stack_pointer() noexcept {
#if defined(__x86_64__)
  const std::byte* end;
  asm("movq %%rsp, %0" : "=rm"(end));
  return end;
#else
  return static_cast<const std::byte*>(__builtin_frame_address(0));
#endif
}

// Contexts on stacks of their own, on the OS thread that made this.
class FiberSwitcher final : public ContextSwitcher, public Recycled<FiberSwitcher> {
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
    if (to.resume_point == nullptr) [[unlikely]]
      prepare(to);
    *locals_ = to.locals;
    void* const exceptions = exception_state_;
    std::memcpy(from.exception_state.data(), exceptions, sizeof from.exception_state);
    std::memcpy(exceptions, to.exception_state.data(), sizeof to.exception_state);
    previous_ = &from;
    arrive(switch_context(to.resume_point, this));
  }

  [[noreturn]] void leave_behind(Task& from, Task& to) override;

  // The calling context, `self`, is about to be left, and `task` will soon be switched to: in a
  // large world its stack has left the caches since it last ran, and waiting for it would be most
  // of the cost of a switch.
  [[gnu::always_inline]] void expect(TaskId self, TaskId task) noexcept {
    if (self < noted_frames_) frames_[self] = stack_pointer();
    if (task >= noted_frames_) return;
    constexpr int line_bytes = 64;
    // What a call that blocks has of it; more would fill the queues for lines that nobody uses.
    constexpr int lines = 10;
    const std::byte* const frame = frames_[task];
#pragma GCC unroll 10
    for (int line = 0; line < lines; ++line) __builtin_prefetch(frame + line * line_bytes, 1);
  }

 private:
  // Notes where the context that has just been left goes on.
  void arrive(ResumePoint left) noexcept { previous_->resume_point = left; }

  // Gives a stack to a task that has not begun, and is switched to next.
  void prepare(Task& task);

  // The whole life of that task.
  [[noreturn]] void live() noexcept;

  TaskRunner& runner_;
  // Two words per OS thread: the exceptions being handled and how many are in flight. They belong
  // to the fiber, since a switch may happen inside a catch block. Source: Itanium C++ ABI, 2.2.2.
  void* exception_state_;
  RankLocals** locals_;  // of that thread, where those of the running task belong
  std::unique_ptr<StackPool> own_pool_;
  std::unique_ptr<ParallelWarmer> warmer_;  // of its stacks, in very large worlds
  StackPool* pool_ = nullptr;
  // Where the stack of each switched-out task ends; before it has begun, any place.
  std::vector<const std::byte*> frames_;
  TaskId noted_frames_ = 0;   // of those below, in large worlds
  Task* previous_ = nullptr;  // the task that is left, or ended_
  Task ended_;                // in place of one that has ended
  Task* prepared_ = nullptr;  // the task that begins next
  void* prepared_stack_ = nullptr;
  bool has_left_behind_ = false;
};

}  // namespace gang::sim
