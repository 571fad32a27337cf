#include "harness/run/exploration.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/fault_check.h"
#include "harness/run/sampled_runs.h"
#include "harness/text/number_text.h"

namespace gang::harness {

void set_strategy(ExplorationOptions& options, std::string_view text) {
  constexpr std::string_view of_pct = "pct:";
  if (text.starts_with(of_pct)) {
    text.remove_prefix(of_pct.size());
    options.depth = parse_number("--strategy pct:D", text, least_depth, most_depth);
    options.strategy = Strategy::pct;
    return;
  }
  const auto strategy = parse_name(strategy_names, text);
  if (!strategy || *strategy == Strategy::pct)
    throw InvalidArgument(fmt::format(
        "--strategy is '{}'; must be one of: auto, exhaustive, random, pos, pct:D", text));
  options.strategy = *strategy;
}

void ExplorationCoverage::add(const RunResult& result) {
  const sim::Report& report = result.report;
  ++runs;
  rank_operations += report.counts.rank_operations;
  if (report.fault_plan)
    for (const sim::Fault& fault : report.fault_plan->faults)
      kinds[std::string{to_string(fault.kind)}].planned += fault.ranks.size();
  if (report.outcome == sim::Outcome::completed && report.findings.empty()) ++completed;
  if (report.faults.empty()) return;
  ++with_faults;
  if (!report.findings.empty() && result.uncontained.empty()) ++typed_errors;
  if (corrupted_silently(report)) ++corrupted;
  for (const sim::FiredFault& fired : report.faults) {
    OfKind& kind = kinds[std::string{to_string(report.fault_plan->faults[fired.fault].kind)}];
    ++kind.fired;
    kind.places.insert(fired.place.empty() ? fired.description : fired.place);
  }
}

void ExplorationCoverage::add(const ExplorationCoverage& other) {
  runs += other.runs;
  with_faults += other.with_faults;
  completed += other.completed;
  typed_errors += other.typed_errors;
  corrupted += other.corrupted;
  rank_operations += other.rank_operations;
  for (const auto& [kind, counts] : other.kinds) {
    OfKind& of_kind = kinds[kind];
    of_kind.planned += counts.planned;
    of_kind.fired += counts.fired;
    of_kind.places.insert(counts.places.begin(), counts.places.end());
  }
}

Exploration explore(const Program& program, const RunSpecification& specification,
                    const ExplorationOptions& options, const ExplorationProgress& progress) {
  const auto began = std::chrono::steady_clock::now();
  ProgressReporter reporter{progress};
  Exploration exploration;
  const bool is_exhaustive = options.strategy == Strategy::exhaustive;
  if ((is_exhaustive || options.strategy == Strategy::automatic) &&
      can_be_exhaustive(specification)) {
    // Half of the budget, where drawn schedules can take over.
    const std::uint64_t share = is_exhaustive ? 1 : 2;
    run_exhaustively(
        program, specification,
        [&] {
          reporter.report([&]() -> const auto& { return exploration.coverage; });
          const bool has_time =
              !options.budget || std::chrono::steady_clock::now() - began < *options.budget / share;
          return exploration.coverage.runs < (options.schedules + share - 1) / share && has_time;
        },
        exploration, options.jobs);
  }
  if (exploration.claim == Claim::sampled && !is_exhaustive) {
    reporter.go_on_after(exploration.coverage);
    ExplorationOptions left = options;
    left.schedules -= std::min(exploration.coverage.runs, options.schedules - 1);
    if (left.budget) *left.budget -= std::chrono::steady_clock::now() - began;
    Exploration sampled = run_sampled(program, specification, left, exploration.every, reporter);
    sampled.coverage.add(exploration.coverage);
    sampled.every = std::move(exploration.every);
    sampled.results = exploration.results;
    exploration = std::move(sampled);
  }
  exploration.wall_time = std::chrono::steady_clock::now() - began;
  return exploration;
}

}  // namespace gang::harness
