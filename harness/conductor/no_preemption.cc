#include "harness/conductor/no_preemption.h"

#include <sched.h>

namespace gang::harness {
namespace {

bool set_policy(int policy) noexcept {
  const sched_param parameters{};
  return ::sched_setscheduler(0, policy, &parameters) == 0;
}

}  // namespace

NoPreemption::NoPreemption() noexcept
    : was_set_(::sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_BATCH)) {}

NoPreemption::~NoPreemption() {
  if (was_set_) set_policy(SCHED_OTHER);
}

}  // namespace gang::harness
