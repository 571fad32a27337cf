// One context of a rank: its program, or a further thread that it has started.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "gang/rank_locals.h"
#include "sim/schedule/schedule.h"

namespace gang {
struct GlooActivity;
}

namespace gang::sim {

struct PendingOperation;
struct RankState;
struct Wait;

inline constexpr TaskId outside_task = ~TaskId{0} - 1;

struct Task;

// The state of a further context that a rank's program does not need.
struct FurtherContext {
  std::string name;
  std::function<void()> body;
  RankLocals locals;         // threads of a real rank have their own, too
  std::exception_ptr error;  // exception that left the body, until a join takes it
  Task* joiner = nullptr;    // blocked until it ends
  bool is_of_gangs = false;  // started by a gang of a foreign backend, not by the program
};

// What only few contexts need: those that poll, sleep, or call something once the run is over.
struct RareTaskState {
  std::uint64_t polls = 0;                 // fruitless polls in a row
  PendingOperation* polled = nullptr;      // target of the last poll; null once it is gone
  const GlooActivity* activity = nullptr;  // SimulatedBackend::gloo: the call it is at
  std::uint64_t timer_serial = 0;          // the last of its waits that a timer may end
  std::uint64_t naps = 0;                  // waits that a timer has ended while the run had come
  std::uint64_t naps_at = 0;               // this far (PassingTime::activity)
  std::uint32_t refusals = 0;              // calls that were refused since the run is over
  bool has_asked_time = false;             // since its last poll
};

// The control block of a context. Owned by the engine; its address is stable for the whole run.
struct Task {
  // What every switch touches comes first, in 64 bytes.
  TaskId id = no_task;
  bool is_polling = false;  // `wait` is a poll
  bool is_done = false;
  bool is_left_behind = false;             // its stack could not be unwound, and was left as it is
  bool is_frozen = false;                  // by a fault: does not run until the run is over
  const Wait* wait = nullptr;              // what it is blocked on; null while runnable
  std::uint64_t wait_serial = 0;           // counts its waits: tells a stale timer from a live one
  std::array<void*, 2> exception_state{};  // of the C++ runtime, while it is switched out
  RankLocals* locals = nullptr;            // current while it runs; null for outside_task
  RankState* rank = nullptr;               // the same
  void* resume_point = nullptr;            // of a fiber that has begun; where it last went on

  std::unique_ptr<FurtherContext> further;

  const RareTaskState& rare() const noexcept {
    static constexpr RareTaskState none;
    return rare_ != nullptr ? *rare_ : none;
  }
  // For writing; made on first use.
  RareTaskState& make_rare() {
    if (rare_ == nullptr) rare_ = std::make_unique<RareTaskState>();
    return *rare_;
  }
  // Its last poll was not in vain.
  void end_polls() noexcept {
    if (rare_ != nullptr) rare_->polls = 0;
  }

 private:
  std::unique_ptr<RareTaskState> rare_;
};

}  // namespace gang::sim
