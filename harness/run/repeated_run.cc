#include "harness/run/repeated_run.h"

#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/further_runs/nondeterminism.h"

namespace gang::harness {
namespace {

// Of a result that has the events of its trace, or else of its first repeat.
std::optional<sim::Finding> first_difference(const RunResult& result, const Repeat& repeat) {
  constexpr int most_repeats = 8;
  std::optional<RunResult> repeated;
  if (result.report.trace.events.empty()) repeated = repeat(sim::Recording::on);
  const sim::Report& first = repeated ? repeated->report : result.report;
  std::optional<sim::Finding> finding;
  for (int i = 0; i < most_repeats && !finding; ++i)
    finding = sim::nondeterminism(first, repeat(sim::Recording::on).report);
  return finding;
}

}  // namespace

bool is_repeated(std::uint64_t run) noexcept { return std::has_single_bit(run); }

bool can_be_repeated(const RunResult& result) noexcept {
  const RunSpecification& specification = result.specification;
  return is_simulated(specification.backend) &&
         specification.options.context != sim::ContextKind::parallel &&
         result.report.unguided != sim::Unguided::outside;
}

bool repeats_itself(const RunResult& result, const Repeat& repeat) {
  const RunResult again = repeat(sim::Recording::off);
  return again.report.trace.digest == result.report.trace.digest &&
         again.outputs.digest == result.outputs.digest;
}

void note_nondeterminism(RunResult& result, const Repeat& repeat, std::string_view detail) {
  std::optional<sim::Finding> finding = first_difference(result, repeat);
  if (!finding)
    finding = {.id = std::string{sim::finding_id::nondeterminism},
               .message = fmt::format(
                   "Two runs of the program under one schedule differ, so it depends on something "
                   "outside the simulation (a clock, an address, unseeded randomness).{}{}",
                   detail.empty() ? "" : " ", detail)};
  result.report.findings.insert(result.report.findings.begin(), *std::move(finding));
  result.is_in_every_schedule = false;
  result.specification.schedule = ScheduleChoice::recheck;
  if (result.specification.faults && result.uncontained.empty())
    result.uncontained = fmt::format("the finding {}", sim::finding_id::nondeterminism);
}

}  // namespace gang::harness
