#include "sim/verdict/missing_participants.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/matching/matching.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/first_divergence.h"
#include "sim/verdict/near_misses.h"

namespace gang::sim {
namespace {

// Everything that waits for one set of ranks whose programs have ended.
struct Missing {
  std::vector<int> gone;
  const PendingOperation* first = nullptr;      // a collective, where there is one
  const Task* context = nullptr;                // that waits for `first`
  std::vector<const PendingOperation*> others;  // further collectives
  std::set<int> waiting;                        // root ranks
};

std::vector<Missing> find_missing(BlockedWorld& blocked) {
  std::vector<Missing> all;
  std::map<std::vector<int>, std::size_t> places;  // by the ranks that are gone
  std::set<const MatchSlot*> seen;
  const std::vector<int>* last_gone = nullptr;
  std::size_t last = 0;
  for (const Task* context : blocked.dead_contexts()) {
    for (const PendingOperation* posted : BlockedWorld::operations_of(*context)) {
      if (Matching::has_ended(*posted)) continue;
      const PendingOperation& pending = held_up_by(*posted);
      const std::vector<int>& gone = blocked.gone_for(pending);
      if (gone.empty()) continue;
      if (&gone != last_gone) {
        const auto [place, is_new] = places.try_emplace(gone, all.size());
        if (is_new) all.emplace_back().gone = gone;
        last_gone = &gone;
        last = place->second;
      }
      Missing& missing = all[last];
      missing.waiting.insert(missing.waiting.end(), context->rank->rank);
      const bool is_collective = pending.slot != nullptr;
      if (missing.first == nullptr || (is_collective && missing.first->slot == nullptr)) {
        missing.first = &pending;
        missing.context = context;
      }
      if (is_collective && seen.insert(pending.slot).second) missing.others.push_back(&pending);
    }
  }
  return all;
}

// One set of ranks that is gone, and who came to the call that they did not make.
class MissingCall {
 public:
  MissingCall(const World& world, BlockedWorld& blocked, const Missing& missing)
      : world_(world), missing_(missing), pending_(*missing.first) {
    if (pending_.slot == nullptr) return;
    for (const PendingOperation* member : pending_.slot->members)
      if (member != nullptr) callers_.push_back(gang().root_rank_of(member->member));
    std::sort(callers_.begin(), callers_.end());
    const auto members = static_cast<std::size_t>(gang().size());
    are_callers_odd_ = members > 2 && callers_.size() < missing.gone.size() + kept_waiting(blocked);
    is_once_more_ = !is_recorded() && 2 * callers_.size() <= members && repeats_last_call();
  }

  Finding finding() const {
    const bool is_uneven = is_once_more_ && !has_failed();
    Finding finding = finding_for(
        pending_, is_uneven ? finding_id::uneven_iterations : finding_id::participant_missing);
    finding.ranks = are_callers_odd_ ? callers_ : missing_.gone;
    if (pending_.slot != nullptr && gang().active.front() == pending_.slot)
      finding.divergence = first_divergence(world_, gang(), pending_.slot->members);
    return finding;
  }

  std::string message() const {
    const std::string label = gang().label();
    std::string text;
    if (is_recorded())
      text = are_callers_odd_
                 ? fmt::format("Only {} called {} on {} ({} members), as recorded: {}",
                               ranks_text(callers_), call(), label, gang().size(), recorded_ends())
                 : fmt::format("No call of {} on {} ({} members) is recorded for {}: {}", call(),
                               label, gang().size(), ranks_text(missing_.gone), recorded_ends());
    else if (is_once_more_ && !has_failed())
      text = fmt::format("{} called {} on {} ({} members) once more than {}, which {}",
                         capitalised(ranks_text(callers_)), call(), label, gang().size(),
                         ranks_text(missing_.gone), ending());
    else if (are_callers_odd_)
      text =
          fmt::format("Only {} called {} on {} ({} members); {} never {} it: {} {}",
                      ranks_text(callers_), call(), label, gang().size(), ranks_text(missing_.gone),
                      is_one() ? "calls" : "call", is_one() ? "it" : "they", ending());
    else
      text = fmt::format("{} never called {} on {} ({} members): {} {}",
                         capitalised(ranks_text(missing_.gone)), call(), label, gang().size(),
                         is_one() ? "it" : "they", ending());
    return text + ".";
  }

  // Who waits for those who are gone; `blocked`: contexts that are blocked in all.
  std::string detail(std::size_t blocked) const {
    const std::vector<int> waiting(missing_.waiting.begin(), missing_.waiting.end());
    std::string text = fmt::format("{} for {}", capitalised(ranks_do(waiting, "waits", "wait")),
                                   is_one() ? "it" : "them");
    if (blocked > waiting.size())
      text += fmt::format("; {} more for others", blocked - waiting.size());
    return text + ".";
  }

 private:
  const GangState& gang() const { return *pending_.gang; }

  // Members that are blocked elsewhere, waiting for one of the callers: they too expect another
  // call of it. Asked of a few callers only.
  std::size_t kept_waiting(BlockedWorld& blocked) const {
    constexpr std::size_t few = 8;
    std::size_t count = 0;
    if (callers_.size() > few) return count;
    for (const int rank : gang().info->root_ranks) {
      const Task& program = world_.engine.contexts().program_of(rank);
      if (program.is_done || program.wait == nullptr || std::ranges::binary_search(callers_, rank))
        continue;
      const PendingOperation* pending = BlockedWorld::operation_of(program);
      if (pending == nullptr || takes_any(held_up_by(*pending))) continue;
      const std::vector<int>& awaited = blocked.awaited_by(*pending);
      if (std::ranges::any_of(callers_, [&awaited](int caller) {
            return std::ranges::binary_search(awaited, caller);
          }))
        ++count;
    }
    return count;
  }

  bool is_one() const { return missing_.gone.size() == 1; }

  // Whether an exception ended the programs of those who are gone.
  bool has_failed() const {
    return std::ranges::any_of(missing_.gone,
                               [this](int rank) { return world_.rank(rank).has_failed; });
  }

  // Whether what is known of them is a recording, which ends somewhere.
  bool is_recorded() const {
    return std::ranges::any_of(
        missing_.gone, [this](int rank) { return !world_.rank(rank).rare().ended_as.empty(); });
  }

  // "rank 3's recording ends; ranks 5-6's dump is missing".
  std::string recorded_ends() const {
    std::map<std::string_view, std::vector<int>> ranks;
    for (const int rank : missing_.gone) ranks[world_.rank(rank).rare().ended_as].push_back(rank);
    std::string text;
    for (const auto& [how, those] : ranks)
      text += fmt::format("{}{}'s {}", text.empty() ? "" : "; ", ranks_text(those), how);
    return text;
  }

  // "all_reduce #3 at train.cc:41".
  std::string call() const {
    const Collective& call = pending_.call();
    const std::string operation =
        pending_.slot == nullptr
            ? fmt::format("what matches {}", to_string(describe(call, *gang().info)))
            : fmt::format("{} #{}", to_string(call.kind), call.sequence_number);
    return operation + place_text(call.call_site);
  }

  // "returned from its program after barrier #2".
  std::string ending() const {
    std::string text = !has_failed() ? return_text(world_, missing_.gone)
                       : is_one()    ? world_.rank(missing_.gone.front()).failure()
                                     : "failed in their programs";
    const std::uint64_t sequence = pending_.call().sequence_number;
    if (pending_.slot != nullptr && sequence > 0 &&
        gang().last_call.sequence_number + 1 == sequence)
      text += fmt::format(" after {} #{}", to_string(gang().last_call.kind), sequence - 1);
    return text;
  }

  // Whether the call is the last one of the gang again, and those who have not come have let go of
  // the gang after that one: same place, same arguments.
  bool repeats_last_call() const {
    const Collective& call = pending_.call();
    if (call.sequence_number == 0 || call.call_site.line() == 0) return false;
    Collective last = gang().last_call;
    if (!(last.call_site == call.call_site)) return false;
    last.sequence_number = call.sequence_number;
    last.label = call.label;
    if (!(last == call)) return false;
    for (int member = 0; member < gang().size(); ++member) {
      if (pending_.slot->members[static_cast<std::size_t>(member)] != nullptr) continue;
      const Departure* departure = gang().departure_of(member);
      if (departure == nullptr || departure->calls != call.sequence_number ||
          !(departure->call_site == call.call_site))
        return false;
    }
    return true;
  }

  const World& world_;
  const Missing& missing_;
  const PendingOperation& pending_;
  std::vector<int> callers_;
  bool are_callers_odd_ = false;
  bool is_once_more_ = false;
};

}  // namespace

void report_missing_participants(const World& world, BlockedWorld& blocked,
                                 VerdictCertainty& certainty, FindingLog& findings) {
  for (const Missing& missing : find_missing(blocked)) {
    const MissingCall call(world, blocked, missing);
    Finding finding = call.finding();
    finding.message = call.message();
    finding.detail = call.detail(blocked.dead_contexts().size());
    finding.certainty = certainty.of(*missing.context);
    if (missing.first->call().kind == OperationKind::send)
      finding.near_misses = taken_instead(
          *missing.first->gang,
          {missing.first->call().peer, missing.first->member, missing.first->call().tag},
          summary_of(*missing.first));
    const std::size_t index = findings.add(std::move(finding));
    for (const PendingOperation* other : missing.others)
      if (other->slot != missing.first->slot)
        findings.add_consequence(index,
                                 fmt::format("{} on {} waits for the same ranks",
                                             to_string(describe(other->call(), *other->gang->info)),
                                             other->gang->label()));
  }
}

}  // namespace gang::sim
