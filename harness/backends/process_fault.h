// Faults of one rank of a program that runs on real processes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/enum_names.h"
#include "gang/gang.h"
#include "gang/operation_kind.h"
#include "gang/runtime.h"
#include "gang/store/faulty_store.h"
#include "gang/store/store.h"
#include "sim/faults/fault_plan.h"

namespace gang::harness {

// kill: the process is killed (SIGKILL). stop: it is stopped (SIGSTOP), and continues when all
// others have ended. exit: it exits with status 0, without closing anything. exception: an
// exception leaves its program. delay: it is late. restart: it is killed, and its program begins
// again in another process, as another incarnation. store: the store through which its gangs meet
// fails it.
enum class ProcessFaultKind : std::uint8_t { kill, stop, exit, exception, delay, restart, store };

// Whether it affects the process as a whole, not only its program.
constexpr bool is_of_process(ProcessFaultKind kind) noexcept {
  return kind != ProcessFaultKind::exception && kind != ProcessFaultKind::delay &&
         kind != ProcessFaultKind::store;
}

inline constexpr auto process_fault_names = names_in_order<ProcessFaultKind>(
    "kill", "stop", "exit", "exception", "delay", "restart", "store");
constexpr std::string_view to_string(ProcessFaultKind kind) noexcept {
  return name_of(process_fault_names, kind);
}

using sim::FaultMoment;  // before, inside, after

// One fault. A value.
struct ProcessFault {
  ProcessFaultKind kind = ProcessFaultKind::kill;
  int rank = 0;

  // Index of the operation, from 0, among those of the rank, on all its gangs, that are of the kind
  // `during` and on a gang called `gang`, if given.
  std::uint64_t operation = 0;
  FaultMoment moment = FaultMoment::before;  // inside: never an exception or a delay
  std::optional<OperationKind> during = {};
  std::string gang = {};

  // Instead of an operation: this long after the rank has its root gang. An exception or a delay
  // then happens at the first operation that is called later.
  std::optional<Duration> time = {};

  Duration span{0};   // inside: how long the operation has been under way; of a delay, how long
  Duration pause{0};  // of a restart: until the new process begins

  std::optional<StoreFault> store = {};  // of store; its time counts from when the process joins

  friend bool operator==(const ProcessFault&, const ProcessFault&) = default;
};

// "rank 2 is killed inside operation 17, after 120 us".
std::string to_string(const ProcessFault& fault);

// What ProcessFaultKind::exception throws.
class InjectedFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The faults that can be drawn.
struct FaultSpace {
  std::vector<std::uint64_t> operations;  // how many each rank has
  Duration longest_delay{0};
};

// The `index`-th fault of `kind`, at any of the ranks and its operations. The same arguments give
// the same fault.
ProcessFault draw_process_fault(ProcessFaultKind kind, const FaultSpace& space, std::uint64_t seed,
                                std::uint64_t index);

// The faults of processes that correspond to a drawn plan: a crash kills; a stall stops, or delays
// if it has an end; exits, exceptions and restarts stay what they are; slow and late ranks are
// delayed. Each happens at the operation or, in wall-clock time, the time of its trigger; else at
// the first operation. Faults of a store become faults of the rank's client. Faults that processes
// cannot have are counted in `left_out`, by kind and reason: "crash (at a message)".
std::vector<ProcessFault> process_faults_of(const sim::FaultPlan& drawn,
                                            std::map<std::string, int>& left_out);

// The pause of the rank's restart among `faults`, if there is one.
std::optional<Duration> pause_of_restart(std::span<const ProcessFault> faults, int rank);

// Counts of one rank's process.
struct FaultTally {
  std::atomic<std::uint64_t> operations = 0;  // called, on all gangs
  std::atomic<std::uint64_t> struck = 0;      // faults that have happened to it
};

// Applies this rank's faults to the calling process, at operations of `inner` and of gangs made
// from it, and from now on. `tally` outlives the gang.
std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        std::span<const ProcessFault> faults, FaultTally& tally);

// `store` as rank `rank` sees it with its faults of the store; `store` itself if there are none.
// Requests without a timeout get `patience`. `runtime` outlives the store.
std::shared_ptr<Store> make_faulted_store(Runtime& runtime, std::shared_ptr<Store> store, int rank,
                                          std::span<const ProcessFault> faults, Duration patience);

}  // namespace gang::harness
