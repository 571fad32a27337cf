#include "sim/contexts/termination.h"

#include <cxxabi.h>

#include <atomic>
#include <cstdlib>
#include <exception>

extern "C" void* __dso_handle;  // NOLINT(bugprone-reserved-identifier): the compiler's own

namespace gang::sim {

constinit thread_local TerminationTarget* termination_target = nullptr;

namespace {

std::atomic<std::terminate_handler> former_handler = nullptr;

void take_over(Termination how) {
  if (termination_target != nullptr && termination_target->carries_caller())
    termination_target->terminated(how);
}

[[noreturn]] void on_terminate() {
  take_over(Termination::by_terminate);
  if (const std::terminate_handler former = former_handler) former();
  std::abort();
}

}  // namespace

// Makes an object that is younger than all others so far.
void keep_at_exit() noexcept {
  const auto on_exit = [](void*) {
    if (termination_target == nullptr || !termination_target->carries_caller()) return;
    keep_at_exit();
    take_over(Termination::by_exit);
  };
  abi::__cxa_thread_atexit(on_exit, nullptr, &__dso_handle);
}

TerminationScope::TerminationScope(TerminationTarget& target) noexcept
    : outer_(termination_target) {
  termination_target = &target;
  // An exception keeps the handler that was set when it was thrown, so this one must be set early.
  // Setting it takes a cache line from the other threads; mostly it is set.
  if (std::get_terminate() != on_terminate)
    if (const std::terminate_handler former = std::set_terminate(on_terminate);
        former != on_terminate)
      former_handler = former;
  thread_local bool is_watched = false;
  if (!is_watched) keep_at_exit();
  is_watched = true;
}

}  // namespace gang::sim
