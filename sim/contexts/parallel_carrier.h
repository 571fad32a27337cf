// The OS thread of a parallel context.
#pragma once

#include <semaphore>
#include <thread>

namespace gang::sim {

// Runs one context; sleeps on `wakes` while the context is blocked. Joins on destruction.
struct ParallelCarrier {
  std::counting_semaphore<> wakes{0};
  std::jthread thread;
};

}  // namespace gang::sim
