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
#include "sim/faults/fault_plan.h"

namespace gang::harness {

// kill: the process is killed (SIGKILL). stop: it is stopped (SIGSTOP), and goes on when all others
// have ended. exit: it ends by itself, with status 0, without closing anything. exception: its
// program is left by an exception. delay: it comes late.
enum class ProcessFaultKind : std::uint8_t { kill, stop, exit, exception, delay };

std::string_view to_string(ProcessFaultKind kind) noexcept;

// The inverse of to_string; none for any other text.
std::optional<ProcessFaultKind> parse_process_fault(std::string_view text) noexcept;

using sim::FaultMoment;  // before, inside, after

// One fault. A value.
struct ProcessFault {
  ProcessFaultKind kind = ProcessFaultKind::kill;
  int rank = 0;
  std::uint64_t operation = 0;  // which of the rank's, on all its gangs; 0 is the first
  FaultMoment moment = FaultMoment::before;  // inside: never an exception or a delay
  Duration span{0};  // inside: how long the operation has been under way; of a delay, how long

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
// has an end; exits and exceptions are themselves; what is slow or late comes later. Each at the
// operation of its trigger, or at the first. What cannot be done to processes (links, corruption,
// restarts, aborts, other triggers) goes to `left_out`, by kind.
std::vector<ProcessFault> process_faults_of(const sim::FaultPlan& drawn,
                                            std::map<std::string, int>& left_out);

// Counts the operations of a rank, on `inner` and the gangs made from it, and strikes at those that
// `faults` of this rank say. Nothing but the calling process is struck. `operations` is counted up
// with each; it outlives the gang.
std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        std::span<const ProcessFault> faults,
                                        std::atomic<std::uint64_t>& operations);

}  // namespace gang::harness
