#include "sim/contexts/thread_semaphore.h"

#include <atomic>
#include <thread>

#include "sim/contexts/wall_clock.h"

namespace gang::sim {
namespace {

// Of the waits to come, of all threads of the process, so many sleep at once.
std::atomic<int> sleeps_left = 0;

}  // namespace

// Whether it has acquired the semaphore while it gave way a few times.
bool ThreadSemaphore::acquire_soon() noexcept {
  constexpr int most_looks = 4;
  constexpr int sleeps_when_busy = 1000;
  constexpr Duration slow = std::chrono::microseconds(200);  // other threads hand over in a few
  for (int looks = 0; looks < most_looks; ++looks) {
    if (::sem_trywait(&semaphore_) == 0) return true;
    const WallClock clock;
    std::this_thread::yield();
    if (clock.elapsed() > slow) {
      sleeps_left.store(sleeps_when_busy, std::memory_order_relaxed);
      return false;
    }
  }
  return false;
}

void ThreadSemaphore::acquire() noexcept {
  if (sleeps_left.load(std::memory_order_relaxed) > 0)
    sleeps_left.fetch_sub(1, std::memory_order_relaxed);
  else if (acquire_soon())
    return;
  while (::sem_wait(&semaphore_) != 0) continue;  // interrupted by a signal
}

}  // namespace gang::sim
