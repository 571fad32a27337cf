// The OS thread of a parallel context.
#pragma once

#include <thread>

namespace gang::sim {

// Runs one context; sleeps on `wakes` while the context is blocked. Joins on destruction.
struct ParallelCarrier {
  std::counting_semaphore<> wakes{0};
  std::jthread thread;
};

// The end of an OS thread whose stack must stay as it is.
[[noreturn]] inline void sleep_forever() {
  std::binary_semaphore never{0};
  for (;;) never.acquire();
}

}  // namespace gang::sim
