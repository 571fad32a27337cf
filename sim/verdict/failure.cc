#include "sim/verdict/failure.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "gang/operation_checks.h"
#include "sim/engine/engine.h"
#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/failure_cause.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

constexpr std::string_view before_first_call = " before its first call";
constexpr std::size_t most_failures_compared =
    8;  // failures whose last call is compared with the others'

// At most a few lines of `text`: how it begins and, as long ones are mostly tracebacks, how it
// ends.
std::string shortened(std::string_view text) {
  constexpr std::size_t most_bytes = 1000;
  if (text.size() <= most_bytes) return std::string(text);
  const auto is_inside_character = [text](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80;
  };
  std::size_t begins = most_bytes / 3;
  while (begins > 0 && is_inside_character(begins)) --begins;
  std::size_t ends = text.size() - (most_bytes - most_bytes / 3);
  while (ends < text.size() && is_inside_character(ends)) ++ends;
  const std::string_view beginning(text.data(), begins);
  const std::string_view end(text.data() + ends, text.size() - ends);
  return fmt::format("{}... ({} bytes in all) ...{}", beginning, text.size(), end);
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return shortened(exception.what());
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// The rank's handle of the gang, or the one it has just released.
const GangState* gang_of(const RankState& rank, const GangInfo* info) {
  for (const auto& gang : rank.rare().abandoned)
    if (gang->info.get() == info) return gang.get();
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    if (gang->state()->info.get() == info) return gang->state().get();
  return nullptr;
}

// The label of the gang of a call of the rank's. Mostly known: making it takes O(members), which is
// too much for each of many ranks that fail.
std::string label_of_gang(const RankState& rank, const LastCall& call) {
  const GangState* gang = gang_of(rank, call.gang.get());
  return gang != nullptr ? gang->label() : label_of(*call.gang);
}

CallText failed_call(const RankState& rank, const GangError& failure) {
  const LastCall last = last_call_of(rank);
  const bool is_of_last = last.gang != nullptr && label_of_gang(rank, last) == failure.gang();
  return is_of_last ? describe(failure.operation(), *last.gang) : describe(failure.operation());
}

// What a rank did that a failure has ended: "failed in barrier #1 on dp[0,2] (peer_failed)". The
// reason is left out: the finding has said it.
std::string consequence_of(const RankState& rank, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const GangError& failure) {
    return fmt::format("failed in {} on {} ({})", to_string(failed_call(rank, failure)),
                       failure.gang(), to_string(failure.kind()));
  } catch (...) {
    const auto& death = rank.rare().death;
    return death == nullptr ? "ended with an exception: " + text_of(error) : death->full_text();
  }
}

// The call that an error is about, where it was refused.
struct Refusal {
  CallSite call_site;
  bool is_closed_gang = false;
};

std::optional<Refusal> refusal_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RefusedCall& refused) {
    return Refusal{refused.call_site(), dynamic_cast<const ClosedGang*>(&refused) != nullptr};
  } catch (...) {
    return std::nullopt;
  }
}

// " after all_reduce #3 on dp[0,2] at train.cc:41", a call of the rank's.
std::string after_text(const RankState& rank, const LastCall& call) {
  return call.gang == nullptr ? std::string(before_first_call) : " after " + call_text(rank, call);
}

// The rank's gangs: those it still holds, or has just released.
std::vector<std::shared_ptr<GangState>> gangs_of(RankState& rank) {
  std::vector<std::shared_ptr<GangState>> gangs = std::exchange(rank.make_rare().abandoned, {});
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    gangs.push_back(gang->state());
  std::sort(gangs.begin(), gangs.end(),
            [](const auto& a, const auto& b) { return a->index < b->index; });
  gangs.erase(std::unique(gangs.begin(), gangs.end()), gangs.end());
  return gangs;
}

std::vector<int> member_of(const GangState& gang, int root_rank) {
  const auto& ranks = gang.info->root_ranks;
  const auto place = std::find(ranks.begin(), ranks.end(), root_rank);
  return {static_cast<int>(place - ranks.begin())};
}

// The rank's last call beside those that it has met although they stand in other places.
// O(members).
std::vector<NearMiss> calls_elsewhere(const RankState& rank, const LastCall& last) {
  constexpr std::size_t most = 4;
  std::vector<NearMiss> misses;
  const GangState* gang = gang_of(rank, last.gang.get());
  if (gang == nullptr || gang->places == nullptr || is_point_to_point(last.kind) ||
      gang->places->sequence_number != last.sequence_number)
    return misses;
  const CallSummary own{
      .ranks = {rank.rank},
      .gang = gang->gang_label(),
      .call = {.kind = std::string(to_string(last.kind)), .sequence = last.sequence_number},
      .location = location_of(last.call_site)};
  std::map<SourceLocation, std::vector<int>> others;
  for (std::size_t member = 0; member < gang->places->by_member.size(); ++member)
    others[location_of(gang->places->by_member[member])].push_back(
        gang->root_rank_of(static_cast<int>(member)));
  others.erase(own.location);
  for (auto& [place, ranks] : others) {
    if (misses.size() == most) break;
    CallSummary other = own;
    std::sort(ranks.begin(), ranks.end());
    other.ranks = std::move(ranks);
    other.location = place;
    misses.push_back({own, std::move(other), std::string(place_field)});
  }
  return misses;
}

std::size_t add_rank_failure(World& world, const Task& task, const std::exception_ptr& error) {
  Finding finding;
  finding.id = finding_id::rank_failed;
  finding.ranks = {task.rank->rank};
  std::string where;
  LastCall last;
  if (const std::optional<Refusal> refusal = refusal_of(error)) {
    if (refusal->is_closed_gang) finding.id = finding_id::use_after_close;
    finding.location = location_of(refusal->call_site);
    where = " at " + to_string(finding.location);
  } else {
    last = last_call_of(*task.rank);
    where = after_text(*task.rank, last);
    if (last.gang != nullptr) finding.location = location_of(last.call_site);
  }
  const std::string context =
      task.further ? fmt::format(" its context '{}'", task.further->name) : std::string();
  const auto predicate = [&](bool is_of_one, std::string_view place) {
    const auto& death = task.rank->rare().death;
    if (death != nullptr) return fmt::format("{}{}.", death->full_text(is_of_one), place);
    return fmt::format("ended{} with an exception{}: {}", context, place, text_of(error));
  };
  const bool is_first = where == before_first_call;
  const std::size_t index =
      world.findings.add_of_ranks(std::move(finding), predicate(true, where),
                                  predicate(false, is_first ? " before their first call" : where));
  // Limited, for worlds in which every rank fails.
  Finding& added = world.findings.at(index);
  if (last.gang != nullptr && added.ranks.size() == 1 && index < most_failures_compared)
    added.near_misses = calls_elsewhere(*task.rank, last);
  return index;
}

// An aborted gang's error ended the program of `rank`: the rank that aborted the gang is the cause.
std::size_t add_abort(World& world, const BreakCause& cause, int rank,
                      const std::exception_ptr& error) {
  Finding finding;
  finding.id = finding_id::rank_failed;
  finding.ranks = {cause.aborted_by};
  if (cause.aborted_after.gang != nullptr)
    finding.location = location_of(cause.aborted_after.call_site);
  const std::string where = after_text(world.rank(cause.aborted_by), cause.aborted_after);
  finding.message = fmt::format("Rank {} aborted a gang{}, which ended the program of rank {}: {}",
                                cause.aborted_by, where, rank, text_of(error));
  return world.findings.add(std::move(finding));
}

}  // namespace

void report_rank_failure(World& world, Task& task, const std::exception_ptr& error) {
  RankState& rank = *task.rank;
  rank.has_failed = true;
  auto& last_failure = rank.make_rare().last_failure;
  if (world.foreign_gangs != nullptr) last_failure = cause_of_failure(world, rank, error);
  std::size_t finding = last_failure ? last_failure->finding : BreakCause::no_finding;
  if (finding == BreakCause::no_finding && last_failure && last_failure->finding_if_fatal)
    finding = last_failure->finding = world.findings.add(*last_failure->finding_if_fatal);
  if (finding != BreakCause::no_finding)
    world.findings.add_consequence_of(rank.rank, finding, consequence_of(rank, error));
  else if (last_failure && last_failure->aborted_by != no_rank)
    finding = last_failure->finding = add_abort(world, *last_failure, rank.rank, error);
  else
    finding = add_rank_failure(world, task, error);
  for (const auto& cause : std::exchange(rank.make_rare().broken_by_unwinding, {})) {
    if (cause->finding != BreakCause::no_finding) world.findings.merge(cause->finding, finding);
    cause->finding = finding;
  }
  if (world.foreign_gangs != nullptr) {  // its gangs break by themselves
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::peer_failed;
    cause->finding = finding;
    last_failure = std::move(cause);
    rank.make_rare().abandoned.clear();
    return;
  }
  // Broken ones, too: who fails first is a choice.
  for (const auto& gang : gangs_of(rank)) {
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::peer_failed;
    if (!gang->broken) {  // else the cause is known, and this one says only that there is a choice
      cause->ranks_at_fault = member_of(*gang, rank.rank);
      cause->reason = fmt::format("rank {} {}", rank.rank, rank.failure());
    }
    cause->finding = finding;
    world.matching.break_gang(*gang, std::move(cause));
  }
}

void report_open_gangs(World& world) {
  if (world.options.ignored_leaks.gang_not_closed) return;
  for (const RankState& rank : world.ranks) {
    // Handles on a stack that was left as it is are not the program's fault.
    if (world.engine.contexts().program_of(rank.rank).is_left_behind) continue;
    for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank()) {
      if (gang->is_closed()) continue;
      Finding finding;
      finding.id = finding_id::gang_not_closed;
      finding.ranks = {rank.rank};
      finding.gang = gang_label_of(gang->info());
      // No call has made a root gang: of that, the last call of it.
      const bool is_root = gang->made_at().line() == 0;
      const CallSite place = is_root ? gang->last_call().call_site : gang->made_at();
      std::string known;
      if (place.line() != 0) {
        finding.location = location_of(place);
        known = fmt::format(", {} at {},", is_root ? "last called" : "made",
                            to_string(finding.location));
      }
      std::string predicate = fmt::format("left {}{} open when every program had ended.",
                                          to_string(finding.gang), known);
      world.findings.add_of_ranks(std::move(finding), std::move(predicate));
    }
  }
}

std::string call_text(const RankState& rank, const LastCall& call) {
  const std::string number =
      is_point_to_point(call.kind) ? "" : fmt::format(" #{}", call.sequence_number);
  return fmt::format("{}{} on {} at {}", to_string(call.kind), number, label_of_gang(rank, call),
                     to_string(call.call_site));
}

}  // namespace gang::sim
