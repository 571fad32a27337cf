#include "sim/verdict/finding_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/failure.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_ranges = 6;

}  // namespace

Finding finding_for(const PendingOperation& pending, std::string_view id) {
  Finding finding;
  finding.id = id;
  finding.gang = pending.gang->gang_label();
  finding.call = describe(pending.call(), *pending.gang->info);
  finding.location = location_of(pending.call().call_site);
  return finding;
}

std::string place_text(const CallSite& call_site) {
  return call_site.line() == 0 ? std::string() : " at " + to_string(call_site);
}

std::string rank_list_text(std::span<const int> ranks) {
  constexpr std::size_t most_listed = 8;
  if (std::ranges::is_sorted(ranks))
    return to_rank_ranges({ranks.begin(), ranks.end()}, most_ranges);
  const auto listed = ranks.first(std::min(ranks.size(), most_listed));
  return fmt::format("{}{}", fmt::join(listed, ","), listed.size() < ranks.size() ? ",..." : "");
}

CallSummary summary_of(const PendingOperation& pending) {
  return {.ranks = {pending.gang->root_rank_of(pending.member)},
          .gang = pending.gang->gang_label(),
          .call = describe(pending.call(), *pending.gang->info),
          .location = location_of(pending.call().call_site),
          .note = ""};
}

std::string return_text(const World& world, std::span<const int> ranks) {
  const RareRankState& first = world.rank(ranks.front()).rare();
  const bool have_exited = !first.exited_by.empty() && std::ranges::all_of(ranks, [&](int rank) {
    const RareRankState& rare = world.rank(rank).rare();
    return rare.exited_by == first.exited_by && rare.exited_at == first.exited_at;
  });
  if (have_exited)
    return fmt::format("ended with {}{}", first.exited_by, place_text(first.exited_at));
  return ranks.size() == 1 ? "returned from its program" : "returned from their programs";
}

void add_detail(Finding& finding, std::string_view sentence) {
  if (!finding.detail.empty() && !sentence.empty()) finding.detail += ' ';
  finding.detail += sentence;
}

namespace {

// What `context` is blocked in that is not an operation of a gang.
std::string other_wait(const Wait& wait) {
  switch (wait.reason) {
    case Wait::Reason::sleep:
      return "sleep";
    case Wait::Reason::join:
      return "join of " + wait.context()->further->name;
    case Wait::Reason::mutex:
      return std::string(mutex_wait);
    case Wait::Reason::condition:
      return "wait for a condition";
    case Wait::Reason::message:
      return wait.message()->describe();
    default:
      return "poll that never succeeds";
  }
}

}  // namespace

std::string message_cycle_text(std::span<const OperationKind> kinds, std::string_view path) {
  const auto are_all = [kinds](OperationKind kind) {
    return !kinds.empty() && std::ranges::count(kinds, kind) == std::ssize(kinds);
  };
  if (are_all(OperationKind::send))
    return fmt::format("Each rank's send waits for the next rank, which sends first too: {}.",
                       path);
  if (are_all(OperationKind::recv))
    return fmt::format("Each rank's receive waits for the next rank, which receives first too: {}.",
                       path);
  return fmt::format("Each rank's message waits for the next rank: {}.", path);
}

std::size_t told_message(std::span<const OperationKind> kinds) {
  for (const OperationKind kind : {OperationKind::send, OperationKind::batch})
    if (const auto found = std::ranges::find(kinds, kind); found != kinds.end())
      return static_cast<std::size_t>(found - kinds.begin());
  return 0;
}

CallOnGang describe_wait(const Task& context) {
  if (context.wait == nullptr) return {{}, {.kind = "running"}};
  if (const PendingOperation* pending = BlockedWorld::operation_of(context))
    return {pending->gang->gang_label(), describe(pending->call(), *pending->gang->info)};
  const Wait& wait = *context.wait;
  if (wait.reason == Wait::Reason::message && wait.message()->call() != nullptr)
    return {gang_label_of(*wait.message()->gang()),
            describe(*wait.message()->call(), *wait.message()->gang())};
  return {{}, {.kind = other_wait(wait)}};
}

void point_at_last_call(const World& world, BlockedWorld& blocked, Finding& finding) {
  if (finding.ranks.empty() || !finding.location.empty()) return;
  const int rank = finding.ranks.front();
  const RankState& state = world.rank(rank);
  if (const LastCall last = last_call_of(state); last.gang != nullptr) {
    finding.location = location_of(last.call_site);
    add_detail(finding,
               fmt::format("The last call of rank {} was {}.", rank, call_text(state, last)));
    return;
  }
  for (const Task* context : blocked.dead_contexts()) {
    const PendingOperation* pending = BlockedWorld::operation_of(*context);
    if (pending == nullptr || !std::ranges::binary_search(blocked.awaited_by(*pending), rank))
      continue;
    finding.location = location_of(pending->call().call_site);
    add_detail(finding,
               fmt::format("{} waits for rank {}.", capitalised(call_text(*pending)), rank));
    return;
  }
}

bool has_launched(const RankState& rank, const GangState& gang) {
  const auto& stream = rank.rare().stream;
  return stream && std::ranges::any_of(*stream, [&gang](const PendingOperation* queued) {
           return queued->gang == &gang && queued->status == PendingStatus::launched;
         });
}

std::string call_text(const PendingOperation& pending) {
  const Collective& call = pending.call();
  const std::string operation =
      is_point_to_point(call.kind)
          ? to_string(describe(call, *pending.gang->info))
          : fmt::format("{} #{}", to_string(call.kind), call.sequence_number);
  return fmt::format("{} on {} at {}", operation, pending.gang->label(), to_string(call.call_site));
}

std::string launched_text(const Task& context) {
  const PendingOperation* pending = BlockedWorld::operation_of(context);
  if (pending == nullptr) return "";
  const PendingOperation& ahead = held_up_by(*pending);
  if (&ahead == pending) return "";
  return fmt::format("Rank {} launched {} before {}.", context.rank->rank, call_text(ahead),
                     call_text(*pending));
}

}  // namespace gang::sim
