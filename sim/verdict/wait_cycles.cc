#include "sim/verdict/wait_cycles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/matching/matching.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/first_divergence.h"

namespace gang::sim {
namespace {

// The contexts of a cycle and what each waits for in it.
struct Cycle {
  std::vector<const Task*> contexts;
  std::vector<const PendingOperation*> operations;  // null where a context waits for none
};

Cycle cycle_of(const BlockedWorld& blocked, const std::vector<WaitGraph::Node>& core) {
  const auto first = std::find_if(core.begin(), core.end(), [&blocked](WaitGraph::Node node) {
    return blocked.thing(node).context != nullptr;
  });
  Cycle cycle;
  if (first == core.end()) return cycle;
  for (const WaitGraph::Node node : blocked.graph().cycle_through(*first)) {
    const Task* context = blocked.thing(node).context;
    if (context == nullptr) continue;
    cycle.contexts.push_back(context);
    cycle.operations.push_back(BlockedWorld::operation_of(*context));
  }
  return cycle;
}

std::vector<int> sorted(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<int> ranks_of(const Cycle& cycle) {
  std::vector<int> ranks;
  for (const Task* context : cycle.contexts) ranks.push_back(context->rank->rank);
  return sorted(std::move(ranks));
}

// The gangs that the cycle runs through, those ahead in a stream included.
std::set<std::string> gangs_of(const Cycle& cycle) {
  std::set<std::string> gangs;
  for (const PendingOperation* pending : cycle.operations) {
    gangs.insert(pending->gang->label());
    gangs.insert(held_up_by(*pending).gang->label());
  }
  return gangs;
}

bool has_queued(const Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.operations.size(); ++i) {
    const PendingOperation& pending = *cycle.operations[i];
    const RankState& next = *cycle.contexts[(i + 1) % cycle.contexts.size()]->rank;
    if (pending.status == PendingStatus::launched || has_launched(next, *pending.gang)) return true;
  }
  return false;
}

std::string context_text(const Task& context) {
  const int rank = context.rank->rank;
  return context.further ? fmt::format("{}/{}", rank, context.further->name) : std::to_string(rank);
}

// "0 → 1 → 2 → 0"; of a long one the beginning and the end.
std::string cycle_path(const Cycle& cycle) {
  constexpr std::size_t most_shown = 12;
  constexpr std::size_t first_shown = 8;
  constexpr std::size_t last_shown = 2;
  const std::size_t size = cycle.contexts.size();
  std::string path;
  for (std::size_t i = 0; i < size; ++i) {
    if (size > most_shown && i == first_shown) {
      path += fmt::format("({} more) → ", size - first_shown - last_shown);
      i = size - last_shown;
    }
    path += context_text(*cycle.contexts[i]) + " → ";
  }
  return path + context_text(*cycle.contexts.front());
}

// -- Cycles of several gangs
// -----------------------------------------------------------------------

// Two operations that members of both gangs wait in.
struct Sides {
  const MatchSlot* fewer = nullptr;
  const MatchSlot* more = nullptr;
  std::vector<int> in_fewer;  // root ranks
  std::vector<int> in_more;
};

const PendingOperation& any_call(const MatchSlot& slot) {
  return **std::find_if(slot.members.begin(), slot.members.end(),
                        [](const PendingOperation* member) { return member != nullptr; });
}

// Members of `other` that have come to `slot`.
std::vector<int> members_in(const MatchSlot& slot, const GangState& other) {
  const auto& ranks = other.info->root_ranks;
  const std::unordered_set<int> others(ranks.begin(), ranks.end());
  std::vector<int> in;
  for (const PendingOperation* member : slot.members) {
    if (member == nullptr) continue;
    const int rank = member->gang->root_rank_of(member->member);
    if (others.contains(rank)) in.push_back(rank);
  }
  return sorted(std::move(in));
}

// The two sides of a cycle through two collectives, where one has fewer members than the other.
std::optional<Sides> uneven_sides(const Cycle& cycle) {
  std::set<std::uint32_t> gangs;
  Sides sides;
  for (const PendingOperation* waited_for : cycle.operations) {
    const PendingOperation& pending = held_up_by(*waited_for);
    if (pending.slot == nullptr) return std::nullopt;
    if (!gangs.insert(pending.gang->index).second) continue;
    (sides.fewer == nullptr ? sides.fewer : sides.more) = pending.slot;
  }
  if (gangs.size() != 2) return std::nullopt;
  sides.in_fewer = members_in(*sides.fewer, *any_call(*sides.more).gang);
  sides.in_more = members_in(*sides.more, *any_call(*sides.fewer).gang);
  // Where as many of both gangs are on either side, all who have come there count.
  const auto come = [](const std::vector<int>& in_both, const MatchSlot& slot) {
    return std::pair(in_both.size(), slot.arrived);
  };
  auto fewer = come(sides.in_fewer, *sides.fewer);
  auto more = come(sides.in_more, *sides.more);
  if (fewer.first == more.first) fewer.first = more.first = 0;
  if (fewer == more) return std::nullopt;
  if (fewer > more) {
    std::swap(sides.fewer, sides.more);
    std::swap(sides.in_fewer, sides.in_more);
  }
  return sides;
}

Finding other_gang_finding(const World& world, const Sides& sides) {
  const PendingOperation& odd = any_call(*sides.fewer);
  const PendingOperation& usual = any_call(*sides.more);
  Finding finding = finding_for(odd, finding_id::blocked_in_other_gang);
  finding.ranks = sides.in_fewer;
  finding.message = fmt::format(
      "{} blocked in {}, while {}, which {} waits for, {} blocked in {}. Each side waits for the "
      "other.",
      capitalised(ranks_do(sides.in_fewer, "is", "are")), call_text(odd), ranks_text(sides.in_more),
      odd.gang->info->name, sides.in_more.size() == 1 ? "is" : "are", call_text(usual));
  finding.divergence = first_divergence(world, *usual.gang, sides.more->members);
  return finding;
}

// "ranks 0,3 called dp at a.toml:6", with the place where they share one.
std::string order_text(const std::vector<std::size_t>& places, const Cycle& cycle) {
  std::vector<int> ranks;
  bool is_one_place = true;
  const Collective& first = cycle.operations[places.front()]->call();
  for (const std::size_t place : places) {
    ranks.push_back(cycle.contexts[place]->rank->rank);
    is_one_place = is_one_place && cycle.operations[place]->call().call_site == first.call_site;
  }
  std::string text = ranks_text(sorted(std::move(ranks))) + " called " +
                     cycle.operations[places.front()]->gang->info->name;
  return is_one_place ? text + fmt::format(" (at {})", to_string(first.call_site)) : text;
}

using PlacesInGangs = std::map<std::string, std::vector<std::size_t>>;  // by the name of the gang

// Who waits in which gang, of the first few gangs.
std::string many_orders_text(const Cycle& cycle, const PlacesInGangs& places_in) {
  constexpr std::size_t most_gangs = 4;
  std::string text;
  std::size_t told = 0;
  for (const auto& [gang, places] : places_in) {
    if (told == most_gangs) {
      text += fmt::format("; others {} more gangs", places_in.size() - told);
      break;
    }
    text += (told++ == 0 ? ": " : "; ") + order_text(places, cycle);
  }
  return fmt::format("Ranks call their gangs in different orders{}. Each waits for the next", text);
}

// Who waits in which gang before which other one, where the cycle runs through gangs of two names.
std::string orders_text(const Cycle& cycle) {
  PlacesInGangs places_in;
  for (std::size_t i = 0; i < cycle.contexts.size(); ++i)
    places_in[cycle.operations[i]->gang->info->name].push_back(i);
  if (places_in.size() != 2) return many_orders_text(cycle, places_in);
  const auto& [one, in_one] = *places_in.begin();
  const auto& [other, in_other] = *std::next(places_in.begin());
  return fmt::format("{} before {}; {} before {}. Each waits for the next",
                     capitalised(order_text(in_one, cycle)), other, order_text(in_other, cycle),
                     one);
}

// -- Cycles of one gang
// ----------------------------------------------------------------------------

// A collective of the cycle whose members wait for ranks that are blocked in messages of its gang.
Finding message_instead_finding(const World& world, const Cycle& cycle,
                                const PendingOperation& collective) {
  const GangState& gang = *collective.gang;
  std::vector<int> callers;
  std::vector<int> others;
  for (std::size_t member = 0; member < collective.slot->members.size(); ++member)
    (collective.slot->members[member] != nullptr ? callers : others)
        .push_back(gang.root_rank_of(static_cast<int>(member)));
  const bool are_callers_odd = callers.size() < others.size() && gang.size() > 2;
  Finding finding = finding_for(collective, finding_id::participant_missing);
  finding.ranks = sorted(are_callers_odd ? callers : others);
  finding.divergence = first_divergence(world, gang, collective.slot->members);
  const std::string call =
      fmt::format("{} #{} on {} ({} members)", to_string(collective.call().kind),
                  collective.call().sequence_number, finding.gang, gang.size());
  finding.message =
      are_callers_odd
          ? fmt::format("Only {} called {}; {} blocked in other calls of that gang",
                        ranks_text(finding.ranks), call, ranks_do(sorted(others), "is", "are"))
          : fmt::format("{} not called {}: {} blocked in another call of that gang",
                        capitalised(ranks_do(finding.ranks, "has", "have")), call,
                        finding.ranks.size() == 1 ? "it is" : "they are");
  finding.message += fmt::format(". Each waits for the next: {}.", cycle_path(cycle));
  return finding;
}

// -- Any cycle
// -------------------------------------------------------------------------------------

// What the operations of a cycle have in common. All of them are known.
struct Kinds {
  std::set<const GangState*> gangs;
  std::set<const MatchSlot*> slots;
  bool has_messages = false;
  bool has_collectives = false;
};

Kinds kinds_of(const Cycle& cycle) {
  Kinds kinds;
  for (const PendingOperation* pending : cycle.operations) {
    kinds.gangs.insert(pending->gang);
    if (pending->slot != nullptr) kinds.slots.insert(pending->slot);
    (is_point_to_point(pending->call().kind) ? kinds.has_messages : kinds.has_collectives) = true;
  }
  return kinds;
}

Finding plain_finding(const Cycle& cycle, std::string_view id) {
  const auto first = std::ranges::find_if(
      cycle.operations, [](const PendingOperation* pending) { return pending != nullptr; });
  Finding finding = first != cycle.operations.end() ? finding_for(**first, id) : Finding{};
  finding.id = id;
  finding.ranks = ranks_of(cycle);
  finding.message = "Each waits for the next: " + cycle_path(cycle) + ".";
  return finding;
}

// What a rank of a cycle has launched first, and what of the cycle is queued behind that.
struct Launches {
  int rank = 0;
  const PendingOperation* ahead = nullptr;
  const PendingOperation* queued = nullptr;  // null: nothing is
};

// `place` counts the contexts of the cycle: queued is what it waits for itself, or what the one
// before it does.
Launches launches_at(const Cycle& cycle, std::size_t place) {
  const RankState& rank = *cycle.contexts[place]->rank;
  const PendingOperation& own = *cycle.operations[place];
  if (own.status == PendingStatus::launched) return {rank.rank, &held_up_by(own), &own};
  const std::size_t size = cycle.contexts.size();
  const GangState* awaited_on = cycle.operations[(place + size - 1) % size]->gang;
  if (!rank.stream) return {};
  const auto queued = std::ranges::find_if(*rank.stream, [awaited_on](const auto* candidate) {
    return candidate->gang == awaited_on && candidate->status == PendingStatus::launched;
  });
  if (queued == rank.stream->end()) return {};
  return {rank.rank, rank.stream->front(), *queued};
}

// "Rank 0 launched A before B; rank 2 launched B before A. ": the first rank that has something
// queued, and the first that began with another gang. Empty where nobody has.
std::string launched_text_of(const Cycle& cycle) {
  std::string text;
  const GangState* first = nullptr;
  for (std::size_t i = 0; i < cycle.contexts.size(); ++i) {
    const Launches launches = launches_at(cycle, i);
    if (launches.queued == nullptr) continue;
    const GangState* begun_with = launches.ahead->gang;
    if (first != nullptr && begun_with->info->name == first->info->name) continue;
    text += fmt::format("{} {} launched {} before {}", first == nullptr ? "Rank" : "; rank",
                        launches.rank, call_text(*launches.ahead), call_text(*launches.queued));
    if (first != nullptr) break;
    first = begun_with;
  }
  return text.empty() ? text : text + ". ";
}

// The odd ranks of a cycle through messages and one collective of three or more members: those who
// have not come to it, or those who have, where they are fewer than half. Empty where nobody is.
std::vector<int> odd_at_collective(const Cycle& cycle) {
  const MatchSlot* slot = nullptr;
  for (const PendingOperation* waited_for : cycle.operations) {
    const PendingOperation& pending = held_up_by(*waited_for);
    if (pending.slot == nullptr || pending.slot == slot) continue;
    if (slot != nullptr) return {};
    slot = pending.slot;
  }
  if (slot == nullptr || slot->members.size() < 3 || 2 * slot->arrived == slot->members.size())
    return {};
  const bool are_callers_odd = 2 * slot->arrived < slot->members.size();
  const GangState& gang = *any_call(*slot).gang;
  std::vector<int> odd;
  for (std::size_t member = 0; member < slot->members.size(); ++member)
    if ((slot->members[member] != nullptr) == are_callers_odd)
      odd.push_back(gang.root_rank_of(static_cast<int>(member)));
  return sorted(std::move(odd));
}

Finding stream_finding(const Cycle& cycle) {
  Finding finding = plain_finding(cycle, finding_id::stream_order_inversion);
  if (const std::optional<Sides> sides = uneven_sides(cycle)) {
    finding = finding_for(any_call(*sides->fewer), finding_id::stream_order_inversion);
    finding.ranks = sides->in_fewer;
  } else if (std::vector<int> odd = odd_at_collective(cycle); !odd.empty()) {
    finding.ranks = std::move(odd);
  }
  finding.message = fmt::format(
      "Ranks launched operations of {} on their streams in different orders, and a stream runs "
      "them in the order of launching. {}Each rank waits for the next: {}.",
      fmt::join(gangs_of(cycle), " and "), launched_text_of(cycle), cycle_path(cycle));
  return finding;
}

Finding message_finding(const Cycle& cycle) {
  Finding finding = plain_finding(cycle, finding_id::point_to_point_cycle);
  const bool all_send = std::ranges::all_of(cycle.operations, [](const PendingOperation* pending) {
    return pending->call().kind == OperationKind::send;
  });
  finding.message = fmt::format("{} waits for the next rank{}: {}.",
                                all_send ? "Each rank's send" : "Each rank's message",
                                all_send ? ", which sends first too" : "", cycle_path(cycle));
  return finding;
}

Finding finding_of(const World& world, const Cycle& cycle) {
  const bool are_all_known = std::ranges::none_of(
      cycle.operations, [](const PendingOperation* pending) { return pending == nullptr; });
  if (!are_all_known) return plain_finding(cycle, finding_id::deadlock);
  if (has_queued(cycle)) return stream_finding(cycle);
  if (cycle.contexts.size() == 1) {
    Finding finding = plain_finding(cycle, finding_id::point_to_point_cycle);
    if (!is_point_to_point(cycle.operations.front()->call().kind))
      finding.id = finding_id::deadlock;
    finding.message = fmt::format("Rank {} waits for itself.", finding.ranks.front());
    return finding;
  }
  const Kinds kinds = kinds_of(cycle);
  if (!kinds.has_collectives) return message_finding(cycle);
  if (const std::optional<Sides> sides = uneven_sides(cycle))
    return other_gang_finding(world, *sides);
  if (kinds.gangs.size() > 1) {
    Finding finding = plain_finding(cycle, finding_id::cross_gang_cycle);
    if (std::vector<int> odd = odd_at_collective(cycle); !odd.empty())
      finding.ranks = std::move(odd);
    finding.message = orders_text(cycle) + ": " + cycle_path(cycle) + ".";
    return finding;
  }
  if (kinds.slots.size() == 1 && kinds.has_messages)
    return message_instead_finding(world, cycle, any_call(**kinds.slots.begin()));
  return plain_finding(cycle, finding_id::deadlock);
}

// Whether it is a receive from any source that could take a message of its own rank: that is no
// explanation, since it could take any other as well.
bool waits_for_anybody(const Cycle& cycle) {
  const PendingOperation* pending = cycle.operations.front();
  return cycle.contexts.size() == 1 && pending != nullptr && pending->gang->size() > 1 &&
         takes_any(held_up_by(*pending));
}

}  // namespace

void report_wait_cycles(const World& world, BlockedWorld& blocked, VerdictCertainty& certainty,
                        FindingLog& findings, std::vector<NearMiss> near_misses) {
  for (const auto& core : blocked.cores()) {
    const Cycle cycle = cycle_of(blocked, core);
    if (cycle.contexts.empty() || waits_for_anybody(cycle)) continue;
    Finding finding = finding_of(world, cycle);
    point_at_last_call(world, blocked, finding);
    finding.certainty = certainty.of(*cycle.contexts.front());
    finding.near_misses = std::move(near_misses);
    near_misses.clear();
    findings.add(std::move(finding));
  }
}

}  // namespace gang::sim
