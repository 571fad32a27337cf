// The OS thread of a parallel context.
#pragma once

#include <thread>

#include "sim/contexts/thread_semaphore.h"

namespace gang::sim {

// Runs one context; sleeps on `wakes` while the context is blocked. Joins on destruction.
struct ParallelCarrier {
  ThreadSemaphore wakes;
  std::jthread thread;
};

// The end of an OS thread whose stack must stay as it is.
[[noreturn]] inline void sleep_forever() {
  ThreadSemaphore never;
  for (;;) never.acquire();
}

}  // namespace gang::sim
