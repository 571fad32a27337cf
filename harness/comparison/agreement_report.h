// Do two backends agree on a program? The answer, for people and machines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "harness/comparison/comparison.h"
#include "harness/run/runner.h"
#include "harness/run/shard.h"

namespace gang::harness {

inline constexpr std::string_view agreement_format = "gangsim comparison";
inline constexpr int agreement_version = 1;

// The result of a run in one word, on which two backends can be compared: "completed",
// "wrong_result", "stuck" (a deadlock, or timeouts if the backend sees none), "failed" (an
// exception left the program), or the id of a mismatch.
std::string verdict_of(const sim::Report& report);

// The comparison of one program on two backends. A value.
struct AgreementReport {
  std::string program;
  int world_size = 1;
  BackendKind left = BackendKind::sim;
  BackendKind right = BackendKind::gloo;
  std::string left_verdict;
  std::string right_verdict;
  std::size_t outputs = 0;   // compared, of all ranks
  double allowed_units = 0;  // units in the last place that were needed; 0: bit for bit
  std::optional<Difference> difference;
  std::string left_text;  // what went wrong, if anything
  std::string right_text;
  Duration left_time{0};
  Duration right_time{0};
  std::string reproduce;
  std::uint64_t seed = 1;
  std::uint64_t cases = 0;  // random programs, of all shards; 0: it is one program
  Shard shard = {};         // of those

  bool agrees() const noexcept { return left_verdict == right_verdict && !difference; }
};

// Compares outcomes and, if both runs completed, outputs. Bit for bit; if that fails (except for
// sim-gloo against gloo), floating-point numbers may differ as sums in another order do: by 2(n-1)
// units in the last place of the largest number of their output, for n ranks (Higham, Accuracy and
// Stability of Numerical Algorithms, 4.2). Both runs must have kept their outputs.
AgreementReport compare_runs(const RunResult& left, const RunResult& right);

// At most 80 columns, except for names.
std::string to_string(const AgreementReport& report);
nlohmann::json to_json(const AgreementReport& report);

}  // namespace gang::harness
