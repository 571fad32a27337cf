#include "sim/verdict/root_cause.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/matching/foreign_gangs.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/lock_causes.h"
#include "sim/verdict/missing_participants.h"
#include "sim/verdict/near_misses.h"
#include "sim/verdict/wait_cycles.h"

namespace gang::sim {
namespace {

// The dead contexts that wait for no other dead context; all of them if there are none.
std::vector<const Task*> causes_in(BlockedWorld& blocked) {
  std::vector<const Task*> causes;
  for (const Task* context : blocked.dead_contexts())
    if (blocked.is_core(*context)) causes.push_back(context);
  return causes.empty() ? blocked.dead_contexts() : causes;
}

void report_plain_deadlock(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                           FindingLog& findings, std::vector<NearMiss> near_misses) {
  Finding finding;
  const std::vector<const Task*> causes = causes_in(blocked);
  const Task* first = causes.front();
  for (const Task* context : causes) {
    if (finding.call.empty())
      if (const PendingOperation* pending = BlockedWorld::operation_of(*context)) {
        std::vector<int> ranks = std::move(finding.ranks);
        finding = finding_for(*pending, finding_id::deadlock);
        finding.ranks = std::move(ranks);
        first = context;
      }
    finding.ranks.push_back(context->rank->rank);
  }
  finding.id = finding_id::deadlock;
  finding.ranks.erase(std::unique(finding.ranks.begin(), finding.ranks.end()), finding.ranks.end());
  finding.message = fmt::format("{} for calls that no rank will make.",
                                capitalised(ranks_do(finding.ranks, "waits", "wait")));
  for (const Task* context : causes)
    if (const std::string launched = launched_text(*context); !launched.empty()) {
      add_detail(finding, launched);
      break;
    }
  point_at_last_call(world, blocked, finding);
  finding.near_misses = std::move(near_misses);
  finding.certainty = certainty.of(*first);
  findings.add(std::move(finding));
}

}  // namespace

void report_root_causes(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                        FindingLog& findings) {
  const std::size_t before = findings.size();
  if (world.foreign_gangs != nullptr &&
      world.foreign_gangs->report_causes(blocked, certainty, findings))
    return;
  report_leaked_locks(world, blocked, certainty, findings);
  report_missing_participants(world, blocked, certainty, findings);
  const std::size_t missing = findings.size();
  report_near_misses(world, certainty, findings);
  // Those explain the cycles of their ranks too.
  std::set<int> explained;
  for (std::size_t i = missing; i < findings.size(); ++i)
    for (const NearMiss& miss : findings.at(i).near_misses)
      for (const CallSummary* side : {&miss.first, &miss.second})
        explained.insert(side->ranks.begin(), side->ranks.end());
  report_wait_cycles(world, blocked, certainty, findings, find_other_peers(world), explained);
  blame_held_locks(world, blocked, findings);
  if (findings.size() == before)
    report_plain_deadlock(world, blocked, certainty, findings, find_other_peers(world));
}

}  // namespace gang::sim
