// Laws that every rank of a simulated world checks for itself.
#pragma once

#include <functional>
#include <string>

#include "properties/law.h"
#include "properties/subject.h"

namespace gang::properties {

// Runs on every rank: what is wrong there; empty if the law holds.
using RankCheck = std::function<std::string(sim::SimulatedRank&)>;

// Whether the run completes without findings and without a complaint of any rank.
Verdict judge_ranks(const sim::SimulationOptions& options, const Subject& subject,
                    const RankCheck& check);

// A run whose report is part of the law, with the complaint of its ranks.
struct CheckedRun {
  sim::Report report;
  std::string complaint;  // of the lowest rank that has one, as "rank 2: ..."; or empty
};
CheckedRun run_checked(const sim::SimulationOptions& options, const Subject& subject,
                       const RankCheck& check);

}  // namespace gang::properties
