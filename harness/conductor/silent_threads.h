// Threads of a process that have not called.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <span>

#include "gang/duration.h"
#include "harness/conductor/rank_process.h"
#include "harness/conductor/rest.h"
#include "harness/conductor/turns.h"

namespace gang::harness {

// Whether a thread calls for the first time before or after another one of its process makes a
// call, is a race that the scheduler does not see. So before that call is taken, those that have
// not called come to a stop: they wait for something, have ended, or have called, too.
class SilentThreads {
 public:
  SilentThreads(RankProcess& process, Turns& turns) noexcept : process_(process), turns_(turns) {}

  // Waits, in real time, until all of `threads`, by their native ids, have come to a stop. One that
  // has kept others waiting for longer than the patience of `turns`, in all, is waited for no more.
  // Returns how many have still not called. `caller` makes the call; as long as it does not wait
  // for the answer, it may hold a lock that others wait for, such as the interpreter's.
  std::uint32_t settle(sim::SimulatedRank& rank, pid_t caller,
                       std::span<const std::uint32_t> threads);

 private:
  // What each of them does that has neither called nor ended.
  using Looks = std::map<pid_t, ThreadLook>;

  Looks look_at(std::span<const std::uint32_t> threads) const;
  bool have_stopped(const Looks& looks) const;

  RankProcess& process_;
  Turns& turns_;
  std::map<pid_t, Duration> waited_for_;
  Looks stopped_;  // at the last look
};

}  // namespace gang::harness
