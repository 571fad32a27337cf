#include "sim/further_runs/settled_certainty.h"

#include <algorithm>

#include "sim/further_runs/further_run.h"

namespace gang::sim {
namespace {

// Of a settling run: what it may come to, in case the program does not end without the deadlock.
constexpr std::uint64_t most_buffered_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t least_step_limit = 1'000'000;

using Part = Dependence Certainty::*;

// What is settled next; null: nothing is open.
Part open_part(const Report& report) {
  if (report.outcome != Outcome::deadlock || !report.certainty) return nullptr;
  const Certainty& certainty = *report.certainty;
  if (certainty.faults != Dependence::none) return nullptr;
  if (certainty.sends == Dependence::open) return &Certainty::sends;
  return certainty.streams == Dependence::open ? &Certainty::streams : nullptr;
}

// Decides `part` of the certainty of a finding `id` by the run without it.
void decide(Certainty& certainty, Part part, std::string_view id, const Report& without) {
  certainty.*part = without.holds() ? Dependence::needed : Dependence::not_needed;
  const bool is_there =
      std::ranges::find(without.findings, id, &Finding::id) != without.findings.end();
  certainty.otherwise.clear();
  if (without.holds() || is_there) return;
  certainty.otherwise =
      without.findings.empty() ? to_string(without.outcome) : without.findings.front().id;
}

std::string_view first_id_of(const Report& report) {
  return report.findings.empty() ? std::string_view() : report.findings.front().id;
}

bool explains_itself(std::string_view id) {
  return id == finding_id::point_to_point_cycle || id == finding_id::stream_order_inversion ||
         id == finding_id::mismatch_tag || id == finding_id::mismatch_gang;
}

}  // namespace

std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report) {
  const Part open = open_part(report);
  if (open == nullptr) return std::nullopt;
  SimulationOptions settling = another_run(options);
  if (open == &Certainty::streams)
    settling.execution = ExecutionModel::independent;
  else
    settling.sends = SendMode::buffered(most_buffered_bytes);
  settling.step_limit =
      std::min(options.step_limit, std::max(least_step_limit, 100 * report.counts.switches));
  return settling;
}

void settle(Report& report, const Report& settling) {
  const Part open = open_part(report);
  if (open == nullptr) return;
  decide(*report.certainty, open, first_id_of(report), settling);
  const bool needs_sends = open == &Certainty::sends && settling.holds();
  for (Finding& finding : report.findings) {
    if (!finding.certainty || (*finding.certainty).*open != Dependence::open) continue;
    decide(*finding.certainty, open, finding.id, settling);
    if (!needs_sends || explains_itself(finding.id)) continue;
    finding.id = finding_id::buffering_hazard;
    finding.detail = full_message(finding);
    finding.message = "Sends wait for a receive; with buffered sends the program completes.";
  }
}

SimulationOptions without_faults(const SimulationOptions& options) {
  SimulationOptions clean = another_run(options);
  clean.faults = nullptr;
  return clean;
}

void settle_faults(Report& report, const Report& clean) {
  if (report.certainty) decide(*report.certainty, &Certainty::faults, first_id_of(report), clean);
  for (Finding& finding : report.findings) {
    if (!finding.certainty) finding.certainty.emplace();
    decide(*finding.certainty, &Certainty::faults, finding.id, clean);
  }
}

}  // namespace gang::sim
