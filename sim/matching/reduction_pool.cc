#include "sim/matching/reduction_pool.h"

namespace gang::sim {

ReductionPool::~ReductionPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
}

void ReductionPool::run(std::size_t count, const Body& body) {
  if (threads_ == 1 || count < threads_) return body(0, count);
  std::unique_lock lock(mutex_);
  while (helpers_.size() + 1 < threads_)
    helpers_.emplace_back([this, part = helpers_.size() + 1] { serve(part); });
  body_ = &body;
  count_ = count;
  busy_ = helpers_.size();
  ++round_;
  lock.unlock();
  changed_.notify_all();
  run_part(0);
  lock.lock();
  changed_.wait(lock, [this] { return busy_ == 0; });
}

void ReductionPool::run_part(std::size_t part) const {
  (*body_)(count_* part / threads_, count_ * (part + 1) / threads_);
}

void ReductionPool::serve(std::size_t part) {
  std::size_t served = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this, served] { return is_ending_ || round_ != served; });
    if (is_ending_) return;
    served = round_;
    lock.unlock();
    run_part(part);
    lock.lock();
    if (--busy_ == 0) changed_.notify_all();
  }
}

}  // namespace gang::sim
