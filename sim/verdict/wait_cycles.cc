#include "sim/verdict/wait_cycles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/matching/matching.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/cycle.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/first_divergence.h"

namespace gang::sim {
namespace {

std::string next_text(const Cycle& cycle) {
  return "Each waits for the next: " + cycle_path(cycle) + ".";
}

// -- Cycles of several gangs --

Finding other_gang_finding(const World& world, const Sides& sides) {
  const PendingOperation& odd = any_call(*sides.fewer);
  const PendingOperation& usual = any_call(*sides.more);
  Finding finding = finding_for(odd, finding_id::blocked_in_other_gang);
  finding.ranks = sides.in_fewer;
  finding.message = fmt::format("{} blocked in {}, while {}, which {} waits for, {} blocked in {}.",
                                capitalised(ranks_do(sides.in_fewer, "is", "are")), call_text(odd),
                                ranks_text(sides.in_more), odd.gang->info->name,
                                sides.in_more.size() == 1 ? "is" : "are", call_text(usual));
  finding.detail = "Each side waits for the other.";
  finding.divergence = first_divergence(world, *usual.gang, sides.more->members);
  return finding;
}

// The call that a context of a cycle waits in.
struct CallInCycle {
  int rank = 0;
  const GangInfo* gang = nullptr;
  const Collective* call = nullptr;
};

// By the name of the gang.
using CallsOnGangs = std::map<std::string, std::vector<CallInCycle>>;

// Of all contexts of the cycle; empty if a context waits for something else.
std::vector<CallInCycle> calls_of_cycle(const Cycle& cycle) {
  std::vector<CallInCycle> calls;
  for (std::size_t i = 0; i < cycle.contexts.size(); ++i) {
    const Task& context = *cycle.contexts[i];
    CallInCycle waiting{.rank = context.rank->rank};
    if (const PendingOperation* pending = cycle.operations[i]) {
      waiting.gang = pending->gang->info.get();
      waiting.call = &pending->call();
    } else if (context.wait != nullptr && context.wait->message() != nullptr) {
      waiting.gang = context.wait->message()->gang();
      waiting.call = context.wait->message()->call();
    }
    if (waiting.gang == nullptr || waiting.call == nullptr) return {};
    calls.push_back(waiting);
  }
  return calls;
}

// "ranks 0,3 called dp at a.toml:6", with the place where they share one.
std::string order_text(const std::vector<CallInCycle>& calls) {
  std::vector<int> ranks;
  const CallSite& first = calls.front().call->call_site;
  for (const CallInCycle& one : calls) ranks.push_back(one.rank);
  std::string text =
      ranks_text(sorted_ranks(std::move(ranks))) + " called " + calls.front().gang->name;
  const bool is_one_place = std::ranges::all_of(
      calls, [&first](const CallInCycle& one) { return one.call->call_site == first; });
  return is_one_place ? text + fmt::format(" (at {})", to_string(first)) : text;
}

// Who waits in which gang, of the first few gangs.
std::string many_orders_text(const CallsOnGangs& calls_on) {
  constexpr std::size_t most_gangs = 4;
  std::string text;
  std::size_t told = 0;
  for (const auto& [gang, calls] : calls_on) {
    if (told == most_gangs) {
      text += fmt::format("; others called {} more", calls_on.size() - told);
      break;
    }
    text += (told++ == 0 ? ": " : "; ") + order_text(calls);
  }
  return fmt::format("Ranks call their gangs in different orders{}.", text);
}

// Who waits in which gang before which other one, where the cycle runs through gangs of two names.
std::string orders_text(const std::vector<CallInCycle>& calls) {
  CallsOnGangs calls_on;
  for (const CallInCycle& one : calls) calls_on[one.gang->name].push_back(one);
  if (calls_on.size() != 2) return many_orders_text(calls_on);
  const auto& [one, on_one] = *calls_on.begin();
  const auto& [other, on_other] = *std::next(calls_on.begin());
  return fmt::format("{} before {}; {} before {}.", capitalised(order_text(on_one)), other,
                     order_text(on_other), one);
}

// -- Cycles of one gang --

// A collective of the cycle whose members wait for ranks that are blocked in messages of its gang.
Finding message_instead_finding(const World& world, const Cycle& cycle,
                                const PendingOperation& collective) {
  const GangState& gang = *collective.gang;
  const std::vector<int> others = ranks_at(*collective.slot, false);
  const bool are_callers_odd = collective.slot->arrived < others.size() && gang.size() > 2;
  Finding finding = finding_for(collective, finding_id::participant_missing);
  finding.ranks = are_callers_odd ? ranks_at(*collective.slot, true) : others;
  finding.divergence = first_divergence(world, gang, collective.slot->members);
  const std::string call =
      fmt::format("{} #{} on {} ({} members)", to_string(collective.call().kind),
                  collective.call().sequence_number, gang.label(), gang.size());
  finding.message =
      are_callers_odd ? fmt::format("Only {} called {}; {} blocked in other calls of that gang.",
                                    ranks_text(finding.ranks), call, ranks_do(others, "is", "are"))
                      : fmt::format("{} not called {}: {} blocked in another call of that gang.",
                                    capitalised(ranks_do(finding.ranks, "has", "have")), call,
                                    finding.ranks.size() == 1 ? "it is" : "they are");
  finding.detail = next_text(cycle);
  return finding;
}

// -- Any cycle --

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
  finding.message = next_text(cycle);
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
  const auto& stream = rank.rare().stream;
  if (!stream) return {};
  const auto queued = std::ranges::find_if(*stream, [awaited_on](const auto* candidate) {
    return candidate->gang == awaited_on && candidate->status == PendingStatus::launched;
  });
  if (queued == stream->end()) return {};
  return {rank.rank, stream->front(), *queued};
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
  return ranks_at(*slot, 2 * slot->arrived < slot->members.size());
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
      "them in the order of launching.",
      fmt::join(gangs_of(cycle), " and "));
  finding.detail = fmt::format("{}Each rank waits for the next: {}.", launched_text_of(cycle),
                               cycle_path(cycle));
  return finding;
}

Finding message_finding(const Cycle& cycle, const std::vector<CallInCycle>& calls) {
  Finding finding = plain_finding(cycle, finding_id::point_to_point_cycle);
  std::vector<OperationKind> kinds;
  for (const CallInCycle& one : calls) kinds.push_back(one.call->kind);
  const CallInCycle& told = calls[told_message(kinds)];
  finding.gang = gang_label_of(*told.gang);
  finding.call = describe(*told.call, *told.gang);
  finding.location = location_of(told.call->call_site);
  finding.message = message_cycle_text(kinds, cycle_path(cycle));
  return finding;
}

// Of a backend whose operations the engine does not carry: it knows in which calls contexts wait,
// and not who else has come to them.
Finding foreign_finding(const Cycle& cycle) {
  const std::vector<CallInCycle> calls = calls_of_cycle(cycle);
  const bool are_messages = std::ranges::all_of(
      calls, [](const CallInCycle& one) { return is_point_to_point(one.call->kind); });
  std::set<std::string> gangs;
  for (const CallInCycle& one : calls) gangs.insert(label_of(*one.gang));
  Finding finding = plain_finding(cycle, finding_id::deadlock);
  if (calls.size() < 2 || (!are_messages && gangs.size() < 2)) return finding;
  if (are_messages) return message_finding(cycle, calls);
  finding.id = finding_id::cross_gang_cycle;
  finding.message = orders_text(calls);
  finding.detail = next_text(cycle);
  finding.gang = gang_label_of(*calls.front().gang);
  finding.call = describe(*calls.front().call, *calls.front().gang);
  finding.location = location_of(calls.front().call->call_site);
  return finding;
}

Finding finding_of(const World& world, const Cycle& cycle) {
  const bool are_all_known = std::ranges::none_of(
      cycle.operations, [](const PendingOperation* pending) { return pending == nullptr; });
  if (!are_all_known) return foreign_finding(cycle);
  if (has_queued(cycle)) return stream_finding(cycle);
  if (cycle.contexts.size() == 1) {
    Finding finding = plain_finding(cycle, finding_id::point_to_point_cycle);
    if (!is_point_to_point(cycle.operations.front()->call().kind))
      finding.id = finding_id::deadlock;
    finding.message = fmt::format("Rank {} waits for itself.", finding.ranks.front());
    return finding;
  }
  const Kinds kinds = kinds_of(cycle);
  if (!kinds.has_collectives) return message_finding(cycle, calls_of_cycle(cycle));
  if (const std::optional<Sides> sides = uneven_sides(cycle))
    return other_gang_finding(world, *sides);
  if (kinds.gangs.size() > 1) {
    Finding finding = plain_finding(cycle, finding_id::cross_gang_cycle);
    if (std::vector<int> odd = odd_at_collective(cycle); !odd.empty())
      finding.ranks = std::move(odd);
    finding.message = orders_text(calls_of_cycle(cycle));
    finding.detail = next_text(cycle);
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
                        FindingLog& findings, std::vector<NearMiss> near_misses,
                        const std::set<int>& explained) {
  for (const auto& core : blocked.cores()) {
    const Cycle cycle = cycle_of(blocked, core);
    if (cycle.contexts.empty() || waits_for_anybody(cycle)) continue;
    if (std::ranges::any_of(cycle.contexts, [&explained](const Task* context) {
          return explained.contains(context->rank->rank);
        }))
      continue;
    Finding finding = finding_of(world, cycle);
    point_at_last_call(world, blocked, finding);
    finding.certainty = certainty.of(*cycle.contexts.front());
    finding.near_misses = std::move(near_misses);
    near_misses.clear();
    findings.add(std::move(finding));
  }
}

}  // namespace gang::sim
