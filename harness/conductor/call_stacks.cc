#include "harness/conductor/call_stacks.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/text/rank_ranges.h"

namespace gang::harness {
namespace {

bool calls_from(const RankProcess& process, const StackMessage::Thread& thread) {
  return thread.id != 0 && std::ranges::any_of(process.callers, [&](const auto& caller) {
           return caller->hello.thread == thread.id;
         });
}

// The stuck ones, and those at rest of which no thread is in a call; ascending.
std::vector<int> ranks_outside(const sim::Report& report, const Turns& turns) {
  std::set<int> ranks(turns.stuck_ranks().begin(), turns.stuck_ranks().end());
  for (const int rank : turns.resting_ranks())
    if (std::ranges::count(turns.resting_ranks(), rank) ==
        std::ranges::count(report.blocked, rank, &sim::BlockedCall::rank))
      ranks.insert(rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace

void add_stack(const StackMessage& stack, sim::BlockedCall& blocked, bool is_outside) {
  for (const StackMessage::Thread& thread : stack.threads) {
    if (stack.threads.size() > 1) blocked.call_stack.push_back({.function = thread.name + ":"});
    for (const CallSite& frame : thread.frames) {
      SourceLocation& kept = blocked.call_stack.emplace_back(location_of(frame));
      kept.function = frame.function();
    }
  }
  if ((blocked.location.empty() || is_outside) && !stack.threads.empty() &&
      !stack.threads.front().frames.empty())
    blocked.location = location_of(stack.threads.front().frames.front());
}

bool is_outside_of_calls(const sim::BlockedCall& blocked, const Turns& turns) {
  const auto is_among = [&blocked](const std::vector<int>& ranks) {
    return std::ranges::find(ranks, blocked.rank) != ranks.end();
  };
  return blocked.gang.name.empty() &&
         (is_among(turns.stuck_ranks()) || is_among(turns.resting_ranks()));
}

std::optional<sim::Finding> ranks_outside_of_calls(const sim::Report& report, const Turns& turns) {
  std::vector<int> ranks = ranks_outside(report, turns);
  if (ranks.empty()) return std::nullopt;
  sim::Finding finding{.id = std::string(sim::finding_id::deadlock), .ranks = std::move(ranks)};
  const auto blocked = std::ranges::find_if(report.blocked, [&](const sim::BlockedCall& call) {
    return call.gang.empty() && call.rank == finding.ranks.front() && !call.call_stack.empty();
  });
  std::string place;
  if (blocked != report.blocked.end()) {
    finding.location = blocked->location;
    // Before the frames of each of several threads stands its name.
    const auto frame = std::ranges::find_if(
        blocked->call_stack, [](const SourceLocation& each) { return !each.file.empty(); });
    place = finding.ranks.size() == 1 ? ", " : fmt::format(", rank {} ", blocked->rank);
    if (frame != blocked->call_stack.end()) place += fmt::format("in {} ", frame->function);
    place += "at " + to_string(finding.location);
  }
  const bool is_one = finding.ranks.size() == 1;
  finding.message = fmt::format("{} {} {} outside of any call{}.", is_one ? "Rank" : "Ranks",
                                sim::to_rank_ranges(finding.ranks), is_one ? "is" : "are", place);
  return finding;
}

StackMessage watched_stack(const RankProcess& process,
                           std::span<const std::unique_ptr<RankProcess>> processes) {
  const StackMessage none;
  const StackMessage* own = nullptr;    // of this rank's watcher
  const StackMessage* other = nullptr;  // of another rank's, in the same process
  bool is_shared = false;
  for (const auto& each : processes) {
    if (each->id != process.id) continue;
    is_shared |= each.get() != &process;
    if (each->watcher && each->watcher->stack)
      (each.get() == &process ? own : other) = &*each->watcher->stack;
  }
  if (!is_shared) return own != nullptr ? *own : none;
  StackMessage stack = own != nullptr ? *own : other != nullptr ? *other : none;
  std::erase_if(stack.threads, [&](const auto& thread) { return !calls_from(process, thread); });
  return stack.threads.empty() && own != nullptr ? *own : stack;
}

}  // namespace gang::harness
