// How a world is simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gang/duration.h"
#include "sim/options/nccl_model.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

struct FaultPlan;

// What carries a rank. Same program, same options: same trace on fiber and thread.
enum class ContextKind : std::uint8_t {
  fiber,   // a stack of its own on one OS thread; a million fit in one process
  thread,  // an OS thread each, still one at a time: for debuggers, sanitizers, foreign code
  // An OS thread each, running concurrently: for data races. Time is the wall clock's, and jumps to
  // the next timer where nobody can run.
  parallel,
};

// What the gangs of a world are made of.
enum class SimulatedBackend : std::uint8_t {
  sim,   // the meaning of each operation, computed once
  gloo,  // GlooGang: the algorithms of Gloo over messages among the ranks
  nccl,  // NcclGang over a simulated NCCL, with streams and kernels that wait for each other
};

// In which order a rank's operations on different gangs may run.
enum class ExecutionModel : std::uint8_t {
  independent,     // each gang for itself (Gloo)
  stream_ordered,  // in the order the rank launched them, whatever the gang (NCCL)
};

// When a send lets its caller go on.
struct SendMode {
  // Bytes that each (source, destination) link of a gang buffers; none: rendezvous, the strictest.
  std::optional<std::uint64_t> buffered_bytes;

  static SendMode rendezvous() noexcept { return {}; }
  static SendMode buffered(std::uint64_t bytes) noexcept { return {bytes}; }
  friend bool operator==(const SendMode&, const SendMode&) = default;
};

// What happens at quiescence when nothing but operations' timeouts is pending.
enum class PendingTimeouts : std::uint8_t {
  are_deadlocks,  // the verdict is reached at once
  fire,           // the clock jumps to them, to check a program's error handling
};

// When it is looked for contexts that can never go on.
enum class DeadlockSearch : std::uint8_t {
  at_rest,  // once nobody can run and no time can pass
  // Also every so many switches, where pending timeouts are deadlocks: the run ends with the
  // verdict as soon as some can never go on, though others run, sleep or poll. Costs a few
  // nanoseconds per switch. What an abort or an exception of another rank could still have ended is
  // reported, too. Not under ContextKind::parallel, which looks at rest.
  while_others_run,
};

// Makes one receive from any source take its message from a given one, to see what becomes of it.
struct ForcedReceive {
  int receiver = 0;                 // root rank
  std::uint64_t receive_index = 0;  // the how-manieth receive from any source of that rank
  int source = 0;                   // root rank

  friend bool operator==(const ForcedReceive&, const ForcedReceive&) = default;
};

enum class Recording : std::uint8_t { off, on };

struct SimulationOptions {
  int world_size = 1;      // 1 ... max_world_size
  std::uint64_t seed = 1;  // of every random stream: schedule, data, ...
  ContextKind context = default_context();
  SimulatedBackend backend = SimulatedBackend::sim;
  SchedulerKind scheduler = SchedulerKind::round_robin;
  std::optional<Schedule> replay = {};  // SchedulerKind::replay only
  NcclModel nccl = {};                  // SimulatedBackend::nccl only
  ExecutionModel execution = ExecutionModel::independent;
  SendMode sends = {};
  Duration timeout = default_timeout;  // of the root gang; > 0
  PendingTimeouts pending_timeouts = PendingTimeouts::are_deadlocks;
  // A watchdog of every rank, what torch calls asynchronous error handling: an operation that has
  // waited for so long times out, whatever its own timeout and also where nobody waits for it, and
  // its rank aborts all other gangs that it holds. Monitored barriers have their own timeouts. Time
  // passes for it as for timeouts. > 0; none: off. Not of SimulatedBackend::nccl, whose gangs bring
  // one.
  std::optional<Duration> watchdog = {};
  DeadlockSearch deadlock_search = DeadlockSearch::at_rest;
  std::optional<ForcedReceive> forced_receive = {};
  // What goes wrong, drawn for this world (draw); none: nothing. Once one of its faults has
  // happened, pending timeouts fire, whatever pending_timeouts says. Not under
  // ContextKind::parallel.
  std::shared_ptr<const FaultPlan> faults = {};
  bool strict_blocking = false;  // a blocking call does not match a start_ call
  bool buffer_guard = true;      // find writes to buffers in flight, and reads of outputs
  std::uint64_t step_limit = std::numeric_limits<std::uint64_t>::max();  // switches
  std::size_t stack_bytes = 256 * 1024;    // of a fiber; only touched pages cost memory
  int reduction_threads = 2;               // helpers for large reductions; no effect on results
  Recording trace = Recording::off;        // keep the events, not only their digest
  Recording call_stacks = Recording::off;  // walk blocked contexts at a deadlock; else no cost
  Recording timeline = Recording::off;     // keep the last operations of every context
  Recording schedule = Recording::off;     // keep the choices in Report::schedule

  static constexpr int max_world_size = 4'194'304;
  // fiber, unless built for a sanitizer, which needs threads.
  static ContextKind default_context() noexcept;
};

// Throws FaultPlanError for faults of what such a simulation lacks: stores, and, where an operation
// is one step, messages that a transport would put right.
void check_injectable(const FaultPlan& plan, SimulatedBackend backend);

// Throws InvalidArgument naming the option, its value and what is accepted.
void validate(const SimulationOptions& options);

std::string_view to_string(ContextKind kind) noexcept;      // "fiber", "thread", "parallel"
std::string_view to_string(ExecutionModel model) noexcept;  // "independent", "stream_ordered"
std::string to_string(SendMode mode);                       // "rendezvous", "buffered(4096)"
std::optional<ContextKind> parse_context_kind(std::string_view text) noexcept;
std::optional<ExecutionModel> parse_execution_model(std::string_view text) noexcept;
std::optional<SendMode> parse_send_mode(std::string_view text) noexcept;

}  // namespace gang::sim
