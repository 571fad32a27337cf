#include "sim/verdict/lock_causes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/matching/sim_gang.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

// "its thread 'loader'", "its program", "thread 'loader' of rank 3": as seen by a context of
// `rank`.
std::string context_text(const Task& context, const RankState& rank) {
  if (context.rank == &rank)
    return context.further ? fmt::format("its thread '{}'", context.further->name) : "its program";
  const std::string owner = fmt::format(" of rank {}", context.rank->rank);
  return context.further ? fmt::format("thread '{}'{}", context.further->name, owner)
                         : "the program" + owner;
}

// A context in an operation, and one that waits for a mutex that it holds.
struct HeldLock {
  const Task* holder = nullptr;
  const PendingOperation* held_in = nullptr;
  const Task* waiter = nullptr;
};

std::vector<HeldLock> held_locks_in(const BlockedWorld& blocked,
                                    const std::vector<WaitGraph::Node>& core) {
  std::vector<HeldLock> locks;
  for (const WaitGraph::Node node : core) {
    const Task* waiter = blocked.thing(node).context;
    if (waiter == nullptr || waiter->wait == nullptr ||
        waiter->wait->reason != Wait::Reason::mutex || waits_for_leaked_lock(*waiter))
      continue;
    const Task* holder = waiter->wait->context();
    if (const PendingOperation* pending = BlockedWorld::operation_of(*holder))
      locks.push_back({holder, pending, waiter});
  }
  return locks;
}

std::set<int> ranks_in(const BlockedWorld& blocked, const std::vector<WaitGraph::Node>& core) {
  std::set<int> ranks;
  for (const WaitGraph::Node node : core)
    if (const Task* context = blocked.thing(node).context) ranks.insert(context->rank->rank);
  return ranks;
}

std::string held_text(const HeldLock& lock) {
  const bool is_program = !lock.holder->further;
  return fmt::format("rank {} holds a mutex {}in {}, and {} waits for it", lock.holder->rank->rank,
                     is_program ? "" : fmt::format("(thread '{}') ", lock.holder->further->name),
                     call_text(*lock.held_in), context_text(*lock.waiter, *lock.holder->rank));
}

// `ranks` wait for each other.
void blame(const std::vector<HeldLock>& locks, const std::set<int>& ranks, Finding& finding) {
  constexpr std::size_t most_told = 4;
  std::set<int> holders;
  std::string text;
  for (std::size_t i = 0; i < locks.size(); ++i) {
    holders.insert(locks[i].holder->rank->rank);
    if (i < most_told) text += (text.empty() ? "" : "; ") + held_text(locks[i]);
  }
  text = capitalised(text) + ".";
  const PendingOperation& first = *locks.front().held_in;
  // Where all ranks hold one, or wait for messages, it may as well be by the way.
  if (holders.size() == ranks.size() || is_point_to_point(first.call().kind))
    return add_detail(finding, text);
  finding.detail = full_message(finding);
  finding.message = std::move(text);
  if (finding.id == finding_id::mismatch_gang) finding.id = finding_id::deadlock;  // none mixed up
  finding.near_misses.clear();
  finding.ranks.assign(holders.begin(), holders.end());
  finding.gang = first.gang->gang_label();
  finding.call = describe(first.call(), *first.gang->info);
  finding.location = location_of(first.call().call_site);
}

}  // namespace

void report_leaked_locks(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                         FindingLog& findings) {
  for (const Task* context : blocked.dead_contexts()) {
    if (!waits_for_leaked_lock(*context)) continue;
    Finding finding;
    finding.id = finding_id::deadlock;
    finding.ranks = {context->rank->rank};
    if (const LastCall last = last_call_of(*context->rank); last.gang != nullptr)
      finding.location = location_of(last.call_site);
    else
      point_at_last_call(world, blocked, finding);
    finding.certainty = certainty.of(*context);
    const std::string holder = context_text(*context->wait->context(), *context->rank);
    findings.add_of_ranks(std::move(finding),
                          fmt::format("{} for a mutex that {} locked and never unlocked: it has "
                                      "ended.",
                                      context->further ? "waits in a thread" : "waits", holder));
  }
}

void blame_held_locks(const World& world, const BlockedWorld& blocked, FindingLog& findings) {
  std::unique_ptr<BlockedWorld> without;
  for (const auto& core : blocked.cores()) {
    const std::vector<HeldLock> locks = held_locks_in(blocked, core);
    if (locks.empty()) continue;
    if (!without)
      without = std::make_unique<BlockedWorld>(world, blocked.moment(), Assumption::no_locks);
    if (without->is_dead(*locks.front().holder)) continue;
    const std::set<int> ranks = ranks_in(blocked, core);
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (std::ranges::any_of(findings.at(i).ranks,
                              [&ranks](int rank) { return ranks.contains(rank); })) {
        blame(locks, ranks, findings.at(i));
        break;
      }
  }
}

}  // namespace gang::sim
