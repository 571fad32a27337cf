#include "sim/root_cause.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/failure.h"
#include "sim/matching.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_ranges = 6;

Finding finding_for(const PendingOperation& pending, std::string_view id) {
  Finding finding;
  finding.id = id;
  finding.gang = label_of(*pending.gang->info);
  finding.operation = to_string(pending.call());
  finding.location = to_string(pending.call().call_site);
  return finding;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     to_rank_ranges(ranks, most_ranges));
}

std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

// Whether the rank has launched an operation on the gang that is behind another in its stream.
bool has_launched(const RankState& rank, const GangState& gang) {
  return rank.stream && std::ranges::any_of(*rank.stream, [&gang](const PendingOperation* queued) {
           return queued->gang == &gang && queued->status == PendingStatus::launched;
         });
}

// -- Ranks that will never come
// ---------------------------------------------------------------------

// Everything that waits for one set of ranks whose programs have ended.
struct Missing {
  std::vector<int> gone;
  const PendingOperation* first = nullptr;      // a collective, where there is one
  std::vector<const PendingOperation*> others;  // further collectives
  std::set<int> waiting;                        // root ranks
};

std::string missing_text(const Missing& missing, const std::string& gang, std::size_t blocked) {
  const PendingOperation& pending = *missing.first;
  const bool is_one = missing.gone.size() == 1;
  const bool is_collective = pending.slot != nullptr;
  const std::uint64_t sequence = pending.call().sequence_number;
  const std::string call = is_collective
                               ? fmt::format("{} #{}", to_string(pending.call().kind), sequence)
                               : fmt::format("what matches {}", to_string(pending.call()));
  std::string text =
      fmt::format("{} never called {} on {} ({} members): {} returned from {}",
                  capitalised(ranks_text(missing.gone)), call, gang, pending.gang->size(),
                  is_one ? "it" : "they", is_one ? "its program" : "their programs");
  if (is_collective && sequence > 0)
    text += fmt::format(" after {} #{}", to_string(pending.gang->last_completed), sequence - 1);
  const std::vector<int> waiting(missing.waiting.begin(), missing.waiting.end());
  text += fmt::format(". {} {} for {}", capitalised(ranks_text(waiting)),
                      waiting.size() == 1 ? "waits" : "wait", is_one ? "it" : "them");
  if (blocked > waiting.size())
    text += fmt::format("; {} more for others", blocked - waiting.size());
  return text + ".";
}

std::vector<Missing> find_missing(BlockedWorld& world) {
  std::vector<Missing> all;
  std::map<std::vector<int>, std::size_t> places;  // by the ranks that are gone
  std::set<const MatchSlot*> seen;
  for (const Task* context : world.dead_contexts()) {
    for (const PendingOperation* posted : context->wait->operations) {
      if (Matching::has_ended(*posted)) continue;
      const PendingOperation& pending = BlockedWorld::held_up_by(*posted);
      const std::vector<int>& gone = world.gone_for(pending);
      if (gone.empty()) continue;
      const auto [place, is_new] = places.try_emplace(gone, all.size());
      if (is_new) all.emplace_back().gone = gone;
      Missing& missing = all[place->second];
      missing.waiting.insert(context->rank->rank);
      const bool is_collective = pending.slot != nullptr;
      if (missing.first == nullptr || (is_collective && missing.first->slot == nullptr))
        missing.first = &pending;
      if (is_collective && seen.insert(pending.slot).second) missing.others.push_back(&pending);
    }
  }
  return all;
}

void report_missing(Engine& engine, BlockedWorld& world) {
  for (const Missing& missing : find_missing(world)) {
    Finding finding = finding_for(*missing.first, finding_id::participant_missing);
    finding.ranks = missing.gone;
    finding.message = missing_text(missing, finding.gang, world.dead_contexts().size());
    const std::size_t index = engine.findings().add(std::move(finding));
    for (const PendingOperation* other : missing.others)
      if (other->slot != missing.first->slot)
        engine.findings().add_consequence(
            index, fmt::format("{} on {} waits for the same ranks", to_string(other->call()),
                               label_of(*other->gang->info)));
  }
}

// -- Messages that would meet if their tags were equal
// ---------------------------------------------

void report_other_tags(Engine& engine) {
  for (const GangState* gang : engine.matching().gangs()) {
    if (!gang->mailboxes) continue;
    for (const Mailbox& mailbox : *gang->mailboxes)
      for (const PendingOperation* receive : mailbox.receives)
        for (const PendingOperation* send : mailbox.sends) {
          if (receive->call().peer != send->member) continue;
          Finding finding = finding_for(*receive, finding_id::mismatch_tag);
          finding.ranks = {gang->root_rank_of(send->member), gang->root_rank_of(receive->member)};
          finding.message = fmt::format(
              "Rank {} sends with tag {} at {}; rank {} receives from it with tag {} at {}. They "
              "would meet if the tags were equal.",
              finding.ranks[0], send->call().tag, to_string(send->call().call_site),
              finding.ranks[1], receive->call().tag, finding.location);
          engine.findings().add(std::move(finding));
        }
  }
}

// -- One operation on two gangs of the same members
// ------------------------------------------------

using Calls = std::vector<const PendingOperation*>;

// The calls at the oldest operation of `gang`.
Calls calls_at(const GangState& gang) {
  Calls calls;
  for (const PendingOperation* member : gang.active.front()->members)
    if (member != nullptr) calls.push_back(member);
  return calls;
}

std::vector<int> ranks_of(const Calls& calls) {
  std::vector<int> ranks;
  for (const PendingOperation* call : calls)
    ranks.push_back(call->gang->root_rank_of(call->member));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// Whether somebody who has not come to the oldest operation of `gang` has launched it all the same.
bool is_queued_elsewhere(Engine& engine, const GangState& gang) {
  return std::ranges::any_of(gang.info->root_ranks, [&engine, &gang](int rank) {
    return has_launched(engine.rank_state(rank), gang);
  });
}

void add_mix_up(Engine& engine, const Calls& few, const Calls& many) {
  const PendingOperation& odd = *few.front();
  const PendingOperation& usual = *many.front();
  Finding finding = finding_for(odd, finding_id::mismatch_gang);
  finding.ranks = many.size() == few.size() ? odd.gang->info->root_ranks : ranks_of(few);
  finding.message = fmt::format(
      "{} called {} on gang {} at {}; {} called it on gang {} at {}, which has the same members.",
      capitalised(ranks_text(ranks_of(few))), to_string(odd.call().kind), odd.gang->info->name,
      finding.location, ranks_text(ranks_of(many)), usual.gang->info->name,
      to_string(usual.call().call_site));
  engine.findings().add(std::move(finding));
}

void report_gang_mix_ups(Engine& engine) {
  std::map<std::vector<int>, const GangState*> first_with;  // by members
  for (const GangState* gang : engine.matching().gangs()) {
    if (gang->active.empty() || gang->active.front()->arrived == 0) continue;
    if (is_queued_elsewhere(engine, *gang)) continue;
    std::vector<int> members = gang->info->root_ranks;
    std::sort(members.begin(), members.end());
    const auto [place, is_new] = first_with.try_emplace(std::move(members), gang);
    if (is_new) continue;
    Calls many = calls_at(*place->second);
    Calls few = calls_at(*gang);
    if (many.front()->call().kind != few.front()->call().kind) continue;
    if (many.size() < few.size()) std::swap(many, few);
    add_mix_up(engine, few, many);
  }
}

// -- Calls that wait for each other
// -----------------------------------------------------------------

// The contexts of a cycle and what each waits for in it.
struct Cycle {
  std::vector<const Task*> contexts;
  std::vector<const PendingOperation*> operations;  // null where a context waits for none
};

Cycle cycle_of(const BlockedWorld& world, const std::vector<WaitGraph::Node>& core) {
  const auto first = std::find_if(core.begin(), core.end(), [&world](WaitGraph::Node node) {
    return world.thing(node).context != nullptr;
  });
  Cycle cycle;
  if (first == core.end()) return cycle;
  for (const WaitGraph::Node node : world.graph().cycle_through(*first)) {
    const Task* context = world.thing(node).context;
    if (context == nullptr) continue;
    cycle.contexts.push_back(context);
    cycle.operations.push_back(BlockedWorld::operation_of(*context));
  }
  return cycle;
}

// The gangs that the cycle runs through, those ahead in a stream included.
std::set<std::string> gangs_of(const Cycle& cycle) {
  std::set<std::string> gangs;
  for (const PendingOperation* pending : cycle.operations) {
    gangs.insert(label_of(*pending->gang->info));
    gangs.insert(label_of(*BlockedWorld::held_up_by(*pending).gang->info));
  }
  return gangs;
}

std::string_view cycle_id(const Cycle& cycle) {
  std::set<const GangState*> gangs;
  bool only_messages = true;
  bool has_queued = false;
  for (std::size_t i = 0; i < cycle.operations.size(); ++i) {
    const PendingOperation* pending = cycle.operations[i];
    if (pending == nullptr) return finding_id::deadlock;
    const RankState& next = *cycle.contexts[(i + 1) % cycle.contexts.size()]->rank;
    gangs.insert(pending->gang);
    only_messages = only_messages && is_point_to_point(pending->call().kind);
    has_queued = has_queued || pending->status == PendingStatus::launched ||
                 has_launched(next, *pending->gang);
  }
  if (has_queued) return finding_id::stream_order_inversion;
  if (only_messages) return finding_id::point_to_point_cycle;
  return gangs.size() > 1 ? finding_id::cross_gang_cycle : finding_id::deadlock;
}

std::string cycle_path(const Cycle& cycle) {
  std::string path;
  for (const Task* context : cycle.contexts)
    path += fmt::format("{} → ", context->further ? fmt::format("{}/{}", context->rank->rank,
                                                                context->further->name)
                                                  : std::to_string(context->rank->rank));
  const Task& first = *cycle.contexts.front();
  return path + (first.further ? fmt::format("{}/{}", first.rank->rank, first.further->name)
                               : std::to_string(first.rank->rank));
}

// Who waits in which gang, where the cycle runs through gangs of two names.
std::string orders_text(const Cycle& cycle) {
  std::map<std::string, std::vector<int>> ranks_in;
  for (std::size_t i = 0; i < cycle.contexts.size(); ++i)
    ranks_in[cycle.operations[i]->gang->info->name].push_back(cycle.contexts[i]->rank->rank);
  for (auto& [name, ranks] : ranks_in) std::sort(ranks.begin(), ranks.end());
  if (ranks_in.size() != 2)
    return "Ranks call their gangs in different orders; each waits for the next";
  const auto& [one, in_one] = *ranks_in.begin();
  const auto& [other, in_other] = *std::next(ranks_in.begin());
  return fmt::format(
      "{} called {} before {}; {} did it the other way round. Each waits for the next",
      capitalised(ranks_text(in_one)), one, other, ranks_text(in_other));
}

std::string cycle_text(const Cycle& cycle, std::string_view id) {
  if (cycle.contexts.size() == 1)
    return fmt::format("Rank {} waits for itself.", cycle.contexts.front()->rank->rank);
  if (id == finding_id::point_to_point_cycle)
    return "Each rank's message waits for the next rank: " + cycle_path(cycle) + ".";
  if (id == finding_id::cross_gang_cycle)
    return orders_text(cycle) + ": " + cycle_path(cycle) + ".";
  if (id == finding_id::stream_order_inversion)
    return fmt::format(
        "Ranks launched operations of {} on their streams in different orders, and a stream runs "
        "them in the order of launching. Each rank waits for the next: {}.",
        fmt::join(gangs_of(cycle), " and "), cycle_path(cycle));
  return "Each waits for the next: " + cycle_path(cycle) + ".";
}

void report_cycle(Engine& engine, const Cycle& cycle) {
  const std::string_view id = cycle_id(cycle);
  const PendingOperation* first = cycle.operations.front();
  Finding finding = first != nullptr ? finding_for(*first, id) : Finding{};
  finding.id = id;
  for (const Task* context : cycle.contexts) finding.ranks.push_back(context->rank->rank);
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(std::unique(finding.ranks.begin(), finding.ranks.end()), finding.ranks.end());
  finding.message = cycle_text(cycle, id);
  engine.findings().add(std::move(finding));
}

void report_plain_deadlock(Engine& engine, const BlockedWorld& world) {
  Finding finding;
  for (const Task* context : world.dead_contexts()) {
    if (finding.ranks.empty()) {
      const PendingOperation* pending = BlockedWorld::operation_of(*context);
      if (pending != nullptr) finding = finding_for(*pending, finding_id::deadlock);
    }
    finding.ranks.push_back(context->rank->rank);
  }
  finding.id = finding_id::deadlock;
  finding.ranks.erase(std::unique(finding.ranks.begin(), finding.ranks.end()), finding.ranks.end());
  finding.message =
      fmt::format("{} for what nobody will do.",
                  finding.ranks.size() == 1
                      ? fmt::format("Rank {} waits", finding.ranks.front())
                      : fmt::format("Ranks {} wait", to_rank_ranges(finding.ranks, most_ranges)));
  engine.findings().add(std::move(finding));
}

}  // namespace

void report_root_causes(Engine& engine, BlockedWorld& world) {
  const std::size_t before = engine.findings().size();
  report_missing(engine, world);
  const std::size_t missing = engine.findings().size();
  report_other_tags(engine);
  report_gang_mix_ups(engine);
  // Those two explain cycles too.
  if (engine.findings().size() == missing)
    for (const auto& core : world.cores())
      if (const Cycle cycle = cycle_of(world, core); !cycle.contexts.empty())
        report_cycle(engine, cycle);
  if (engine.findings().size() == before) report_plain_deadlock(engine, world);
}

}  // namespace gang::sim
