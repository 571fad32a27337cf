// Where an OS thread sleeps until another wakes it.
#pragma once

#include <semaphore.h>

namespace gang::sim {

// Like std::counting_semaphore, which waits for a short while before it sleeps, and gives way to
// other threads meanwhile: the quickest way to hand over a turn while processors are free. Where
// other processes want them, giving way takes as long as these may run, a hundred times as long as
// a sleep. This one notices that, and then sleeps at once for some time.
class ThreadSemaphore {
 public:
  ThreadSemaphore() noexcept { ::sem_init(&semaphore_, 0, 0); }
  ~ThreadSemaphore() { ::sem_destroy(&semaphore_); }
  ThreadSemaphore(const ThreadSemaphore&) = delete;
  ThreadSemaphore& operator=(const ThreadSemaphore&) = delete;

  // Lets one acquire() return, now or later.
  void release() noexcept { ::sem_post(&semaphore_); }

  // Waits for a release that no other acquire() has taken.
  void acquire() noexcept;

 private:
  bool acquire_soon() noexcept;

  ::sem_t semaphore_;
};

}  // namespace gang::sim
