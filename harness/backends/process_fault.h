// What befalls one rank of a program that runs on real processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/gang.h"
#include "gang/operation_kind.h"
#include "gang/runtime.h"
#include "gang/store/faulty_store.h"
#include "gang/store/store.h"
#include "sim/faults/fault_plan.h"

namespace gang::harness {

// kill: the process is killed (SIGKILL). stop: it is stopped (SIGSTOP), and goes on when all others
// have ended. exit: it ends by itself, with status 0, without closing anything. exception: its
// program is left by an exception. delay: it comes late. restart: it is killed, and its program
// begins anew in another process, as another incarnation. store: it hears little from the store
// through which its gangs meet.
enum class ProcessFaultKind : std::uint8_t { kill, stop, exit, exception, delay, restart, store };

// Whether it befalls the process as a whole, not only what its program does.
constexpr bool is_of_process(ProcessFaultKind kind) noexcept {
  return kind != ProcessFaultKind::exception && kind != ProcessFaultKind::delay &&
         kind != ProcessFaultKind::store;
}

std::string_view to_string(ProcessFaultKind kind) noexcept;

// All of them, in their order.
std::vector<std::string> process_fault_names();

// The inverse of to_string; none for any other text.
std::optional<ProcessFaultKind> parse_process_fault(std::string_view text) noexcept;

using sim::FaultMoment;  // before, inside, after

// One fault. A value.
struct ProcessFault {
  ProcessFaultKind kind = ProcessFaultKind::kill;
  int rank = 0;

  // At which operation of the rank, on all its gangs, of those that are of the kind `during` and on
  // a gang called `gang`; 0 is the first. Without either all are.
  std::uint64_t operation = 0;
  FaultMoment moment = FaultMoment::before;  // inside: never an exception or a delay
  std::optional<OperationKind> during = {};
  std::string gang = {};

  // Instead of an operation: so long after the rank has its root gang. An exception or a delay
  // then befalls the first operation that is called later.
  std::optional<Duration> time = {};

  Duration span{0};   // inside: how long the operation has been under way; of a delay, how long
  Duration pause{0};  // of a restart: until the new process begins

  std::optional<StoreFault> store = {};  // of store; its time counts from when the process joins

  friend bool operator==(const ProcessFault&, const ProcessFault&) = default;
};

// "rank 2 is killed inside operation 17, after 120 us".
std::string to_string(const ProcessFault& fault);

// What faults are drawn among.
struct FaultSpace {
  std::vector<std::uint64_t> operations;  // how many each rank has
  Duration longest_delay{0};
};

// The `index`-th fault of `kind`, at any of the ranks and its operations. The same arguments give
// the same fault.
ProcessFault draw_process_fault(ProcessFaultKind kind, const FaultSpace& space, std::uint64_t seed,
                                std::uint64_t index);

// What processes meet of a drawn plan of faults: a crash kills; a stall stops, or delays where it
// has an end; exits, exceptions and restarts are themselves; what is slow or late comes later. Each
// at the operation or, on the clock of the wall, the time of its trigger; else at the first
// operation. What befalls the store befalls the rank's client. What cannot be done to processes is
// counted in `left_out`, by kind and reason: "crash (at a message)".
std::vector<ProcessFault> process_faults_of(const sim::FaultPlan& drawn,
                                            std::map<std::string, int>& left_out);

// The pause of the restart among `faults` that befalls the rank; none where none does.
std::optional<Duration> pause_of_restart(std::span<const ProcessFault> faults, int rank);

// What the process of a rank has seen of its faults.
struct FaultTally {
  std::atomic<std::uint64_t> operations = 0;  // called, on all gangs
  std::atomic<std::uint64_t> struck = 0;      // faults that have befallen it
};

// Lets those of `faults` that are this rank's happen to the calling process, at operations of
// `inner` and of gangs made from it, and from now on. Nothing else is struck. `tally` outlives the
// gang.
std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        std::span<const ProcessFault> faults, FaultTally& tally);

// `store` as rank `rank` sees it under those of `faults` that befall the store; `store` itself
// where there are none. Requests without a timeout get `patience`. `runtime` outlives the store.
std::shared_ptr<Store> make_faulted_store(Runtime& runtime, std::shared_ptr<Store> store, int rank,
                                          std::span<const ProcessFault> faults, Duration patience);

}  // namespace gang::harness
