#include "gang/gloo/wait_watch.h"

#include <algorithm>
#include <utility>

namespace gang {
namespace {

constexpr std::chrono::milliseconds shortest_pause(25);

}  // namespace

// A gang on which some wait is due to be looked at.
struct WaitWatch::DueGang {
  std::shared_ptr<const WatchedGang> gang;
  bool is_broken = false;
};

void WaitWatch::add(WatchedWait& wait) {
  const std::lock_guard lock(mutex_);
  waits_.push_back(&wait);
}

void WaitWatch::remove(WatchedWait& wait) {
  const std::lock_guard lock(mutex_);
  std::erase(waits_, &wait);
}

// Looks for notes without the mutex, since that may take long.
void WaitWatch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    pause_.wait_for(lock, stop, shortest_pause, [] { return false; });
    std::vector<DueGang> gangs = find_due();
    if (gangs.empty()) continue;
    lock.unlock();
    for (DueGang& due : gangs) due.is_broken = due.gang->has_note();
    lock.lock();
    look_at_due(gangs);
  }
}

std::vector<WaitWatch::DueGang> WaitWatch::find_due() {
  std::vector<DueGang> gangs;
  const WatchedWait::Clock::time_point now = WatchedWait::Clock::now();
  for (WatchedWait* wait : waits_) {
    if (!wait->began_) wait->next_ = *(wait->began_ = now) + shortest_pause;
    wait->is_due_ = now >= wait->next_;
    if (!wait->is_due_) continue;
    wait->next_ =
        now + std::max<WatchedWait::Clock::duration>(shortest_pause, (now - *wait->began_) / 4);
    if (std::ranges::find(gangs, wait->gang_, &DueGang::gang) == gangs.end())
      gangs.push_back({wait->gang_});
  }
  return gangs;
}

void WaitWatch::look_at_due(const std::vector<DueGang>& gangs) {
  for (WatchedWait* wait : waits_) {
    if (!std::exchange(wait->is_due_, false)) continue;
    const bool is_broken = std::ranges::find(gangs, wait->gang_, &DueGang::gang)->is_broken;
    if (is_broken || wait->is_in_vain()) wait->end();
  }
}

}  // namespace gang
