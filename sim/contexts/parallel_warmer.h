// The first pages of many stacks, made by the kernel ahead of their first use.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "sim/contexts/stack_pool.h"

namespace gang::sim {

// In a large world most of the time of a start is the kernel's, which clears a page for each stack
// at its first touch. Half of that can be done on another processor: from the last stack on, until
// the run, which begins with the first, has come to meet it. Nothing but time depends on it.
//
// Has an OS thread until then, which the destructor stops. Where there is one processor only, where
// no thread can be had, or where the kernel cannot (Linux before 5.14), it does nothing.
class ParallelWarmer {
 public:
  explicit ParallelWarmer(const StackRow& row);
  ParallelWarmer(const ParallelWarmer&) = delete;
  ParallelWarmer& operator=(const ParallelWarmer&) = delete;

  // A further stack of the row is in use. By one thread.
  void note_taken() noexcept {
    taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  void warm(const std::stop_token& stop, const StackRow& row) const noexcept;

  std::atomic<std::size_t> taken_ = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace gang::sim
