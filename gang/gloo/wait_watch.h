// Waits for members of gangs that end when nobody is left to end them.
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

// A gang whose members are waited for. Compared by address.
struct WatchedGang {
  std::function<bool()> has_note;  // whether somebody has broken it; asked on the watch's thread
};

// A thread that waits, while a WaitWatch knows of it.
class WatchedWait {
 public:
  using Clock = std::chrono::steady_clock;

  // `gang`, the pointer, outlives it: waits are made by the million.
  explicit WatchedWait(const std::shared_ptr<const WatchedGang>& gang) : gang_(gang) {}
  WatchedWait(const WatchedWait&) = delete;
  WatchedWait& operator=(const WatchedWait&) = delete;
  virtual ~WatchedWait() = default;

 private:
  friend class WaitWatch;

  // Both on the watch's thread, and never after `remove`. `end` is called again, later, where that
  // has not ended the wait.
  virtual bool is_in_vain() const = 0;
  virtual void end() = 0;

  const std::shared_ptr<const WatchedGang>& gang_;
  std::optional<Clock::time_point> began_;  // when the watch first saw it: no clock is read before
  Clock::time_point next_;
  bool is_due_ = false;
};

// Looks after the waits of a process, on a thread of its own: at each that has lasted for 25 ms,
// and then ever more rarely (after a quarter more of its time). Ends those that are in vain, and
// those on gangs that somebody has broken.
// Threads: any.
class WaitWatch {
 public:
  // From now on until `remove`.
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
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};  // first to go
};

}  // namespace gang
