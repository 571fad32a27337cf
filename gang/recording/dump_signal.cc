#include "gang/recording/dump_signal.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

#include "gang/error.h"

namespace gang {
namespace {

// A handler has nothing but globals. One more than the descriptor; 0 where there is none.
std::array<std::atomic<int>, DumpSignal::most> descriptors;
std::mutex registering;  // of what follows, and of who is in the table
std::size_t registered = 0;
struct sigaction action_before = {};

void wake(int descriptor) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

// Calls only what a handler may.
extern "C" void gangsim_ask_for_dumps(int) {
  const int error = errno;
  for (const std::atomic<int>& descriptor : descriptors)
    if (const int known = descriptor.load(std::memory_order_relaxed); known != 0) wake(known - 1);
  errno = error;
}

}  // namespace

DumpSignal::DumpSignal() {
  const std::lock_guard lock(registering);
  while (place_ < most && descriptors[place_] != 0) ++place_;
  if (place_ == most)
    throw InvalidOperation("a process has at most " + std::to_string(most) + " flight recorders");
  descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor_ < 0) throw InvalidOperation("the system has no descriptor for a flight recorder");
  descriptors[place_] = descriptor_ + 1;
  if (registered++ > 0) return;
  struct sigaction action = {};
  action.sa_handler = gangsim_ask_for_dumps;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, &action_before);
}

DumpSignal::~DumpSignal() {
  const std::lock_guard lock(registering);
  if (--registered == 0) ::sigaction(SIGUSR1, &action_before, nullptr);
  descriptors[place_] = 0;
  ::close(descriptor_);
}

void DumpSignal::raise() const noexcept { wake(descriptor_); }

}  // namespace gang
