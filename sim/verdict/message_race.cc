#include "sim/verdict/message_race.h"

#include <algorithm>

#include <fmt/format.h>

namespace gang::sim {

SimulationOptions forcing_options(const SimulationOptions& options,
                                  const RaceCandidate& candidate) {
  SimulationOptions forcing = options;
  forcing.forced_receive = ForcedReceive{.receiver = candidate.receiver,
                                         .receive_index = candidate.receive_index,
                                         .source = candidate.other_source};
  if (forcing.scheduler == SchedulerKind::replay) forcing.scheduler = SchedulerKind::round_robin;
  forcing.replay.reset();
  forcing.trace = Recording::off;
  forcing.schedule = Recording::off;
  return forcing;
}

std::optional<Finding> message_race(const RaceCandidate& candidate, const Report& forced,
                                    bool outputs_differ) {
  if (!forced.forced_receive_completed || (forced.holds() && !outputs_differ)) return std::nullopt;
  std::string difference = "the outputs differ";
  if (!forced.findings.empty())
    difference = fmt::format("the run ends in {}", forced.findings.front().id);
  else if (forced.outcome != Outcome::completed)
    difference = fmt::format("the run ends as '{}'", to_string(forced.outcome));
  Finding finding;
  finding.id = finding_id::message_race;
  finding.ranks = {candidate.receiver, candidate.taken_source, candidate.other_source};
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.gang = candidate.gang;
  finding.operation = candidate.operation;
  finding.location = candidate.location;
  finding.message = fmt::format(
      "Rank {} received from any source at {} and took the message of rank {}, sent at {}. It can "
      "take that of rank {}, sent at {}, as well; then {}.",
      candidate.receiver, candidate.location, candidate.taken_source, candidate.taken_location,
      candidate.other_source, candidate.other_location, difference);
  finding.certainty = "seen in another run, with the other message taken";
  return finding;
}

}  // namespace gang::sim
