#include "harness/conductor/silent_threads.h"

#include <algorithm>
#include <utility>

namespace gang::harness {

SilentThreads::Looks SilentThreads::look_at(std::span<const std::uint32_t> threads) const {
  Looks looks;
  for (const std::uint32_t thread : threads) {
    const auto id = static_cast<pid_t>(thread);
    const bool has_called = std::ranges::any_of(
        process_.callers, [thread](const auto& caller) { return caller->hello.thread == thread; });
    if (has_called) continue;
    const ThreadLook look = harness::look_at(process_, id);
    if (look.activity != Activity::ended) looks.emplace(id, look);
  }
  return looks;
}

bool SilentThreads::have_stopped(const Looks& looks) const {
  return std::ranges::all_of(looks, [this](const auto& one) {
    const auto waited = waited_for_.find(one.first);
    return one.second.activity == Activity::waits ||
           (waited != waited_for_.end() && waited->second > turns_.patience());
  });
}

std::uint32_t SilentThreads::settle(sim::SimulatedRank& rank, pid_t caller,
                                    std::span<const std::uint32_t> threads) {
  using Clock = std::chrono::steady_clock;
  constexpr Duration longest_pause = std::chrono::milliseconds(1);
  if (threads.empty()) return 0;
  Duration pause{0};
  Clock::time_point before = Clock::now();
  Looks looks = look_at(threads);
  // Whoever has not waited anew since the last time has not done anything since.
  if (looks == stopped_) return static_cast<std::uint32_t>(looks.size());
  for (;;) {
    const bool has_heard = turns_.hear(rank, pause);
    // Before the others: whoever it has released since works, or has waited anew.
    const bool has_caller_stopped = harness::look_at(process_, caller).activity != Activity::works;
    const Looks again = look_at(threads);
    // If none has waited anew, all waited at once, between the two looks. Whoever waits to be
    // welcomed had said hello by the first look, and has been heard.
    const bool is_same = looks == again && has_caller_stopped;
    looks = again;
    if ((!has_heard && is_same && have_stopped(looks)) || turns_.is_interrupted()) break;
    const Clock::time_point now = Clock::now();
    for (const auto& [thread, look] : looks)
      if (look.activity != Activity::waits) waited_for_[thread] += now - before;
    before = now;
    pause = has_heard ? Duration(0)
                      : std::clamp<Duration>(2 * pause, longest_pause / 10, longest_pause);
  }
  stopped_ = std::move(looks);
  return static_cast<std::uint32_t>(stopped_.size());
}

}  // namespace gang::harness
