// One context of a rank: its program, or a further thread it has started.
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

inline constexpr TaskId no_task = ~TaskId{0};
inline constexpr TaskId outside_task = ~TaskId{0} - 1;

struct Task;

// What a further context has and a rank's program has not.
struct FurtherContext {
  std::string name;
  std::function<void()> body;
  RankLocals locals;         // a thread of a real rank has its own, too
  std::exception_ptr error;  // what left the body, until a join takes it
  Task* joiner = nullptr;    // blocked until it ends
};

// The control block of a context. The engine's; stable in memory for the whole run.
struct Task {
  TaskId id = no_task;
  RankState* rank = nullptr;               // null only for outside_task
  const Wait* wait = nullptr;              // what it is blocked in; null while it can run
  std::uint64_t wait_serial = 0;           // counts its waits: tells a stale timer from a live one
  std::array<void*, 2> exception_state{};  // of the C++ runtime, while it is switched out
  std::unique_ptr<FurtherContext> further;
  std::uint64_t polls = 0;                 // fruitless polls in a row
  PendingOperation* polled = nullptr;      // what the last was about; null once it is gone
  const GlooActivity* activity = nullptr;  // SimulatedBackend::gloo: the call it is at
  bool is_started = false;
  bool is_done = false;
  bool is_frozen = false;  // by a fault: runs no more, until the run is over

  // What is current while this context runs; null for outside_task.
  RankLocals* locals() noexcept;
};

}  // namespace gang::sim
