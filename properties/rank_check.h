// Laws that every rank of a simulated world checks for itself.
#pragma once

#include <functional>
#include <string>

#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// Runs on every rank; an empty text says that the law holds there.
using RankCheck = std::function<std::string(sim::SimulatedRank&)>;

// Whether the run completes without findings and no rank has anything to say.
Verdict judge_ranks(const sim::SimulationOptions& options, const Subject& subject,
                    const RankCheck& check);

// A run whose own verdict is part of the law: what its ranks said, and the report.
struct CheckedRun {
  sim::Report report;
  std::string complaint;  // of the lowest rank that had one, with its name
};
CheckedRun run_checked(const sim::SimulationOptions& options, const Subject& subject,
                       const RankCheck& check);

}  // namespace gang::properties
