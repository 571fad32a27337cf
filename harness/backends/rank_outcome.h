// The outcome of one rank that ran in a process of its own.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/error.h"
#include "harness/program/output.h"
#include "sim/report/report.h"

namespace gang::harness {

// A value that travels between processes.
struct RankOutcome {
  // What a rank's program ended with.
  struct Failure {
    std::string text;
    std::optional<GangErrorKind> kind;              // of a GangError; none for anything else
    std::vector<int> ranks_at_fault;                // of the gang that failed
    Duration elapsed{0};                            // of a GangError: since its operation began
    bool is_injected = false;                       // an InjectedFault
    std::optional<CallDifference> difference = {};  // of a GangError that knows it

    friend bool operator==(const Failure&, const Failure&) = default;
  };

  std::vector<Output> outputs;
  std::string note;  // of Rank::note
  std::optional<std::string> wrong_result;
  SourceLocation wrong_result_location;  // if known
  std::optional<Failure> failure;
  std::uint64_t operations = 0;  // that it called, if counted
  std::uint64_t struck = 0;      // faults that have happened to it, if counted

  friend bool operator==(const RankOutcome&, const RankOutcome&) = default;
};

RankOutcome::Failure failure_of(const std::exception& error);

// As MessagePack, and back. Throws InvalidArgument for bytes that are not an outcome.
std::string to_bytes(const RankOutcome& outcome);
RankOutcome rank_outcome_from_bytes(std::string_view bytes);

// Records the ranks' outputs.
void record(const std::vector<RankOutcome>& outcomes, OutputRecorder& recorder);

// The findings of a run whose ranks ended so: one per root cause. An exception of a program's own
// is one; the errors of ranks that only lost a peer are its consequences. If calls did not match,
// the finding has the id that a simulated run gives it.
sim::Report report_of(const std::vector<RankOutcome>& outcomes);

}  // namespace gang::harness
