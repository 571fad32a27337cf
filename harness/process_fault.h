// What befalls one rank of a program that runs on real processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/gang.h"

namespace gang::harness {

// kill: the process is killed (SIGKILL). stop: it is stopped (SIGSTOP), and goes on when all others
// have ended. exit: it ends by itself, with status 0, without closing anything. exception: its
// program is left by an exception. delay: it comes late.
enum class ProcessFaultKind : std::uint8_t { kill, stop, exit, exception, delay };

inline constexpr std::string_view process_fault_names = "kill, stop, exit, exception, delay";

std::string_view to_string(ProcessFaultKind kind) noexcept;

// The inverse of to_string. Throws InvalidArgument that lists the names; `option` is what the text
// was given for.
ProcessFaultKind parse_process_fault(std::string_view option, std::string_view text);

enum class FaultMoment : std::uint8_t { before, inside, after };

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

// The `index`-th fault of `kind`, at any of the ranks and its operations, of which each rank has
// `operations[rank]`. The same arguments give the same fault. A delay is at most `longest`.
ProcessFault draw_process_fault(ProcessFaultKind kind, const std::vector<std::uint64_t>& operations,
                                std::uint64_t seed, std::uint64_t index, Duration longest);

// Counts the operations of a rank, on `inner` and the gangs made from it, and strikes at the one
// that `fault` says, if this is its rank. Nothing but the calling process is struck.
// `operations` is counted up with each; it outlives the gang.
std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        const ProcessFault* fault,
                                        std::atomic<std::uint64_t>& operations);

}  // namespace gang::harness
