// How to simulate a world.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gang/duration.h"
#include "gang/enum_names.h"
#include "sim/options/nccl_model.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

struct FaultPlan;
class Guide;

// What each rank runs on. fiber and thread give the same trace for the same program and options.
enum class ContextKind : std::uint8_t {
  fiber,   // its own stack on one shared OS thread; a million fit in one process
  thread,  // its own OS thread, one running at a time: for debuggers, sanitizers, foreign code
  // Its own OS thread, running concurrently: to find data races. Time follows the wall clock and
  // jumps to the next timer when no context can run.
  parallel,
};

inline constexpr auto context_kind_names =
    names_in_order<ContextKind>("fiber", "thread", "parallel");

// What implements the gangs of a world.
enum class SimulatedBackend : std::uint8_t {
  sim,   // each operation's result, computed once
  gloo,  // GlooGang: Gloo's algorithms over messages between the ranks
  nccl,  // NcclGang over a simulated NCCL, with streams and kernels that wait for each other
};

// The order in which a rank's operations on different gangs may run.
enum class ExecutionModel : std::uint8_t {
  independent,     // no order between gangs (Gloo)
  stream_ordered,  // the order in which the rank launched them, across gangs (NCCL)
};

inline constexpr auto execution_model_names =
    names_in_order<ExecutionModel>("independent", "stream_ordered");

// Of SendMode and Certainty: a buffer that is never full.
inline constexpr std::uint64_t unlimited_bytes = std::numeric_limits<std::uint64_t>::max();

// When a send lets its caller continue.
struct SendMode {
  // Bytes buffered by each (source, destination) link of a gang; none: rendezvous, the strictest;
  // unlimited_bytes: as many as are sent.
  std::optional<std::uint64_t> buffered_bytes;

  static SendMode rendezvous() noexcept { return {}; }
  static SendMode buffered(std::uint64_t bytes) noexcept { return {bytes}; }
  static SendMode unlimited() noexcept { return {unlimited_bytes}; }
  friend bool operator==(const SendMode&, const SendMode&) = default;
};

// What happens at quiescence when only timeouts of operations are pending.
enum class PendingTimeouts : std::uint8_t {
  are_deadlocks,  // the run ends with the verdict at once
  fire,           // the clock jumps to them, to test a program's error handling
};

// When to look for contexts that can never continue.
enum class DeadlockSearch : std::uint8_t {
  at_rest,  // once no context can run and no time can pass
  // Also at regular intervals, counted in switches, if pending timeouts are deadlocks: the run ends
  // with the verdict as soon as any context can never continue, even while others run, sleep or
  // poll. Costs a few nanoseconds per switch. Also reports waits that another rank's abort or
  // exception could still have ended. ContextKind::parallel searches only at rest.
  while_others_run,
};

// What a program may leave behind without a finding; it is cleaned up all the same.
struct IgnoredLeaks {
  bool unwaited_work = false;    // dropped without waiting for it
  bool gang_not_closed = false;  // open when every program has ended

  friend bool operator==(const IgnoredLeaks&, const IgnoredLeaks&) = default;
};

enum class Recording : std::uint8_t { off, on };

struct SimulationOptions {
  int world_size = 1;      // 1 ... max_world_size
  std::uint64_t seed = 1;  // for every random stream: schedule, data, ...
  ContextKind context = default_context();
  SimulatedBackend backend = SimulatedBackend::sim;
  SchedulerKind scheduler = SchedulerKind::round_robin;
  std::optional<Schedule> replay = {};  // SchedulerKind::replay only
  std::shared_ptr<Guide> guide = {};    // SchedulerKind::guided only; not under parallel
  NcclModel nccl = {};                  // SimulatedBackend::nccl only
  ExecutionModel execution = ExecutionModel::independent;
  SendMode sends = {};
  Duration timeout = default_timeout;  // of the root gang; > 0
  PendingTimeouts pending_timeouts = PendingTimeouts::are_deadlocks;
  // A watchdog on each rank, like torch's asynchronous error handling: an operation that has waited
  // this long times out, regardless of its own timeout and even if no context waits for it, and its
  // rank aborts all other gangs that it holds. Monitored barriers keep their own timeouts. Time
  // passes for the watchdog as for timeouts. > 0; none: off. Not with SimulatedBackend::nccl, whose
  // gangs have their own.
  std::optional<Duration> watchdog = {};
  DeadlockSearch deadlock_search = DeadlockSearch::at_rest;
  // The faults to inject, drawn for this world (see draw); null: no faults. Once one of them has
  // happened, pending timeouts fire regardless of pending_timeouts. Not under
  // ContextKind::parallel.
  std::shared_ptr<const FaultPlan> faults = {};
  bool strict_blocking = false;     // blocking calls do not match start_ calls
  bool strict_labels = false;       // calls without a label do not match those with one
  bool buffer_guard = true;         // detect writes to buffers in flight, and reads of outputs
  IgnoredLeaks ignored_leaks = {};  // of a program whose runtime cleans up after it
  std::uint64_t step_limit = std::numeric_limits<std::uint64_t>::max();  // switches
  std::size_t stack_bytes = 256 * 1024;    // of a fiber; only touched pages cost memory
  int reduction_threads = 2;               // helpers for large reductions; no effect on results
  Recording trace = Recording::off;        // keep the events as well as their digest
  Recording call_stacks = Recording::off;  // walk blocked stacks at a deadlock; no cost otherwise
  Recording timeline = Recording::off;     // keep the last operations of every context
  Recording schedule = Recording::off;     // keep the choices in Report::schedule

  // Fault plans are equal if they are the same object.
  friend bool operator==(const SimulationOptions&, const SimulationOptions&) = default;

  static constexpr int max_world_size = 4'194'304;
  // fiber, or thread in sanitizer builds, which need threads.
  static ContextKind default_context() noexcept;
};

// Throws FaultPlanError for faults in parts that the simulation lacks: stores and, where an
// operation is a single step, messages that a transport would repair.
void check_injectable(const FaultPlan& plan, SimulatedBackend backend);

// Throws InvalidArgument, which names the option, its value and the accepted values.
void validate(const SimulationOptions& options);

std::string_view to_string(ContextKind kind) noexcept;      // "fiber", "thread", "parallel"
std::string_view to_string(ExecutionModel model) noexcept;  // "independent", "stream_ordered"
std::string to_string(SendMode mode);  // "rendezvous", "buffered(4096)", "unlimited"
std::optional<ContextKind> parse_context_kind(std::string_view text) noexcept;
std::optional<ExecutionModel> parse_execution_model(std::string_view text) noexcept;
std::optional<SendMode> parse_send_mode(std::string_view text) noexcept;

// "unwaited_work,gang_not_closed", "none", and back.
std::string to_string(IgnoredLeaks ignored);
std::optional<IgnoredLeaks> parse_ignored_leaks(std::string_view text) noexcept;

}  // namespace gang::sim
