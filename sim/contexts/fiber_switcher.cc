#include "sim/contexts/fiber_switcher.h"

#include <cxxabi.h>

#include <map>
#include <mutex>
#include <utility>

#include "sim/contexts/invariant.h"
#include "sim/contexts/termination.h"

namespace gang::sim {
namespace {

// The pool of the calling thread. Kept between runs: mapping and guarding stacks costs more than a
// small run does. Large runs have a pool of their own, which goes with them.
StackPool& pool_of_this_thread(std::size_t stack_bytes) {
  thread_local std::map<std::size_t, StackPool> pools;
  thread_local const bool are_kept = (keep_at_exit(), true);  // with the code that runs on them
  static_cast<void>(are_kept);
  return pools.try_emplace(stack_bytes, stack_bytes).first->second;
}

// Pools with stacks of contexts that will never be resumed.
struct LeftPools {
  std::mutex mutex;
  std::vector<std::unique_ptr<StackPool>> pools;
};

LeftPools& left_behind_for_good() {
  static auto* const left = new LeftPools;  // never destroyed
  return *left;
}

}  // namespace

FiberSwitcher::FiberSwitcher(TaskRunner& runner, std::size_t stack_bytes,
                             std::size_t expected_tasks)
    : runner_(runner), exception_state_(abi::__cxa_get_globals()), locals_(&rank_locals_place()) {
  constexpr std::size_t most_kept = 1024;
  constexpr std::size_t most_cold = 32'768;  // for fewer stacks a thread is not worth its while
  if (expected_tasks > most_kept) {
    own_pool_ = std::make_unique<StackPool>(stack_bytes);
    const StackRow row = own_pool_->reserve(expected_tasks);
    if (expected_tasks > most_cold) warmer_ = std::make_unique<ParallelWarmer>(row);
  }
  pool_ = own_pool_ ? own_pool_.get() : &pool_of_this_thread(stack_bytes);
  // Small worlds stay in the caches anyway.
  if (expected_tasks > 512)
    frames_.resize(expected_tasks, reinterpret_cast<const std::byte*>(this));
  noted_frames_ = static_cast<TaskId>(frames_.size());
}

FiberSwitcher::~FiberSwitcher() {
  if (!has_left_behind_ || own_pool_ == nullptr) return;
  LeftPools& left = left_behind_for_good();
  const std::lock_guard lock(left.mutex);
  left.pools.push_back(std::move(own_pool_));
}

void FiberSwitcher::leave_behind(Task& from, Task& to) {
  has_left_behind_ = true;
  jump(from, to);
  invariant_broken("a context that was left behind has been resumed", __FILE__, __LINE__);
}

void FiberSwitcher::prepare(Task& task) {
  prepared_ = &task;
  prepared_stack_ = pool_->take();
  if (warmer_ != nullptr) warmer_->note_taken();
  task.resume_point = boost::context::detail::make_fcontext(
      prepared_stack_, pool_->stack_bytes(), [](boost::context::detail::transfer_t from) {
        auto& switcher = *static_cast<FiberSwitcher*>(from.data);
        switcher.arrive(from.fctx);
        switcher.live();
      });
}

void FiberSwitcher::live() noexcept {
  void* const stack = prepared_stack_;
  Task& next = runner_.run_task(*prepared_);
  if (next.resume_point == nullptr) prepare(next);
  *locals_ = next.locals;
  std::memcpy(exception_state_, next.exception_state.data(), sizeof next.exception_state);
  previous_ = &ended_;
  pool_->give_back(stack);  // whoever takes it comes after the last use here
  switch_context(next.resume_point, this);
  invariant_broken("a context that has ended has been resumed", __FILE__, __LINE__);
}

}  // namespace gang::sim
