// How another run settles the certainty of a finding.
#include <algorithm>

#include "sim/further_runs/settled_run.h"

namespace gang::sim {
namespace {

// Of a link, in case the program does not end without the deadlock.
constexpr std::uint64_t most_buffered_bytes = std::uint64_t{1} << 30;

using Part = Dependence Certainty::*;

// What to settle next; null if nothing is open.
Part open_part(const Report& report) {
  if (report.outcome != Outcome::deadlock || !report.certainty) return nullptr;
  const Certainty& certainty = *report.certainty;
  if (certainty.faults != Dependence::none) return nullptr;
  if (certainty.sends == Dependence::open) return &Certainty::sends;
  return certainty.streams == Dependence::open ? &Certainty::streams : nullptr;
}

// Decides `part` of the certainty of finding `id` from the run `without` that condition.
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

// What a deadlock is that buffered sends let complete: the order of sends and receives is wrong,
// not their tags or gangs.
void become_hazard(Finding& finding) {
  const bool blames_field =
      finding.id == finding_id::mismatch_tag || finding.id == finding_id::mismatch_gang;
  finding.id = finding_id::buffering_hazard;
  finding.detail = blames_field ? finding.message : full_message(finding);
  finding.message = "Sends wait for a receive; with buffered sends the program completes.";
  std::erase_if(finding.near_misses,
                [](const NearMiss& miss) { return miss.field == "tag" || miss.field == "gang"; });
}

}  // namespace

std::optional<SimulationOptions> settling_options(const SimulationOptions& options,
                                                  const Report& report) {
  const Part open = open_part(report);
  if (open == nullptr) return std::nullopt;
  SimulationOptions settling = another_run(options);
  if (open == &Certainty::streams) {
    settling.execution = ExecutionModel::independent;
  } else {
    settling.sends = SendMode::buffered(most_buffered_bytes);
    settling.backend = SimulatedBackend::sim;  // the only one whose sends can be buffered
  }
  settling.step_limit = further_step_limit(options, report);
  return settling;
}

void settle(Report& report, const Report& settling) {
  const Part open = open_part(report);
  if (open == nullptr) return;
  decide(*report.certainty, open, first_id_of(report), settling);
  report.certainty->decided_in = settling.schedules;
  const bool needs_sends = open == &Certainty::sends && settling.holds();
  for (Finding& finding : report.findings) {
    if (!finding.certainty || (*finding.certainty).*open != Dependence::open) continue;
    decide(*finding.certainty, open, finding.id, settling);
    finding.certainty->decided_in = settling.schedules;
    if (needs_sends && finding.id != finding_id::stream_order_inversion) become_hazard(finding);
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
