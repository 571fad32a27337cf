#include "harness/conductor/interrupt.h"

namespace gang::harness {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

Interrupt::Interrupt() noexcept {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, nullptr, &former_);
  if (former_.sa_handler != SIG_IGN) ::sigaction(SIGINT, &action, nullptr);
}

Interrupt::~Interrupt() { ::sigaction(SIGINT, &former_, nullptr); }

const std::atomic<bool>& Interrupt::has_come() noexcept { return interrupted; }

void Interrupt::check(const std::string& waited_for) {
  if (has_come().load(std::memory_order_relaxed)) throw Interrupted(waited_for);
}

}  // namespace gang::harness
