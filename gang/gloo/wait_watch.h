// Waits for members of gangs that end even if no member is left to end them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace gang {

// A gang whose members some thread waits for. Compared by address.
struct WatchedGang {
  std::function<bool()> has_note;  // whether a member has broken it; called on the watch's thread
};

// The wait of a thread, while a WaitWatch knows about it.
class WatchedWait {
 public:
  using Clock = std::chrono::steady_clock;

  // Refers to the pointer `gang`, which outlives it, since waits are made by the million.
  explicit WatchedWait(const std::shared_ptr<const WatchedGang>& gang) : gang_(gang) {}
  WatchedWait(const WatchedWait&) = delete;
  WatchedWait& operator=(const WatchedWait&) = delete;
  virtual ~WatchedWait() = default;

 private:
  friend class WaitWatch;

  // Both are called on the watch's thread, and never after `remove`. `end` is called again later if
  // the wait has not ended.
  virtual bool is_in_vain() const = 0;
  virtual void end() = 0;

  const std::shared_ptr<const WatchedGang>& gang_;
  std::optional<Clock::time_point> began_;  // when the watch first saw it; no clock is read before
  Clock::time_point next_;
  bool is_due_ = false;
};

// Watches the waits of a process on a thread of its own: looks at each after 25 ms, and then less
// and less often (whenever it has lasted a quarter longer). Ends those that are in vain, and those
// on gangs that a member has broken. Threads: any.
class WaitWatch {
 public:
  // Watches `wait` until `remove`.
  void add(WatchedWait& wait);
  void remove(WatchedWait& wait);

 private:
  struct DueGang;

  void run(const std::stop_token& stop);
  std::vector<DueGang> find_due();
  void look_at_due(const std::vector<DueGang>& gangs);

  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::vector<WatchedWait*> waits_;
  std::jthread thread_{
      [this](const std::stop_token& stop) { run(stop); }};  // last: destroyed first
};

}  // namespace gang
