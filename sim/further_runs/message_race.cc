#include "sim/further_runs/message_race.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/further_runs/further_run.h"

namespace gang::sim {

SimulationOptions forcing_options(const SimulationOptions& options,
                                  const RaceCandidate& candidate) {
  SimulationOptions forcing = another_run(options);
  forcing.forced_receive = ForcedReceive{.receiver = candidate.receiver,
                                         .receive_index = candidate.receive_index,
                                         .source = candidate.other_source};
  return forcing;
}

std::optional<Finding> message_race(const RaceCandidate& candidate, const Report& forced,
                                    bool outputs_differ) {
  if (!forced.forced_receive_completed || (forced.holds() && !outputs_differ)) return std::nullopt;
  std::string difference = "the outputs differ";
  if (!forced.findings.empty())
    difference = fmt::format("the run ends with {}", forced.findings.front().id);
  else if (forced.outcome != Outcome::completed)
    difference = fmt::format("the run ends with {}", to_string(forced.outcome));
  Finding finding;
  finding.id = finding_id::message_race;
  finding.ranks = {candidate.receiver, candidate.taken_source, candidate.other_source};
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.gang = candidate.gang;
  finding.call = candidate.call;
  finding.location = candidate.location;
  finding.message = fmt::format(
      "Rank {} received from any source at {} and took the message of rank {}, sent at {}.",
      candidate.receiver, candidate.location, candidate.taken_source, candidate.taken_location);
  finding.detail =
      fmt::format("It could also take that of rank {}, sent at {}: in a run where it did, {}.",
                  candidate.other_source, candidate.other_location, difference);
  return finding;
}

}  // namespace gang::sim
