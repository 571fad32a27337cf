#include "sim/verdict/root_cause.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/verdict/finding_text.h"
#include "sim/verdict/missing_participants.h"
#include "sim/verdict/near_misses.h"
#include "sim/verdict/wait_cycles.h"

namespace gang::sim {
namespace {

// The dead contexts that wait for nobody else who is dead; all of them where there is none.
std::vector<const Task*> causes_in(BlockedWorld& world) {
  std::vector<const Task*> causes;
  for (const Task* context : world.dead_contexts())
    if (world.is_core(*context)) causes.push_back(context);
  return causes.empty() ? world.dead_contexts() : causes;
}

void report_plain_deadlock(Engine& engine, BlockedWorld& world, VerdictCertainty& certainty,
                           std::vector<NearMiss> near_misses) {
  Finding finding;
  const std::vector<const Task*> causes = causes_in(world);
  const Task* first = causes.front();
  for (const Task* context : causes) {
    if (finding.operation.empty())
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
  finding.message = fmt::format("{} for what nobody will do.",
                                capitalised(ranks_do(finding.ranks, "waits", "wait")));
  for (const Task* context : causes)
    if (const std::string launched = launched_text(*context); !launched.empty()) {
      finding.message += " " + launched;
      break;
    }
  point_at_last_call(engine, world, finding);
  finding.near_misses = std::move(near_misses);
  finding.certainty = certainty.of(*first);
  engine.findings().add(std::move(finding));
}

}  // namespace

void report_root_causes(Engine& engine, BlockedWorld& world, VerdictCertainty& certainty) {
  const std::size_t before = engine.findings().size();
  if (engine.has_root_gangs()) engine.root_gangs().report_causes(engine, world, certainty);
  if (engine.findings().size() > before) return;
  report_missing_participants(engine, world, certainty);
  const std::size_t missing = engine.findings().size();
  report_near_misses(engine, certainty);
  // Those two explain cycles too.
  if (engine.findings().size() == missing)
    report_wait_cycles(engine, world, certainty, find_other_peers(engine));
  if (engine.findings().size() == before)
    report_plain_deadlock(engine, world, certainty, find_other_peers(engine));
}

}  // namespace gang::sim
