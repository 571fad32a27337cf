// Lets whoever runs go on.
#pragma once

namespace gang::harness {

// While one lives, neither its thread nor any process that it starts meanwhile interrupts another
// one when it is woken: each waits until a processor is free or its turn has come (SCHED_BATCH).
// Ranks that are about to ask so get to ask, and the one that answers gets to answer all: a third
// of the switches of context of small collectives is saved. A thread that has been given another
// policy, and a system that allows none, are left alone.
class NoPreemption {
 public:
  NoPreemption() noexcept;
  // On the same thread.
  ~NoPreemption();
  NoPreemption(const NoPreemption&) = delete;
  NoPreemption& operator=(const NoPreemption&) = delete;

 private:
  bool was_set_;
};

}  // namespace gang::harness
