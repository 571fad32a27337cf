#include "sim/verdict/failure.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "gang/operation_checks.h"
#include "sim/engine/engine.h"
#include "sim/injection/fault_injector.h"
#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/first_divergence.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_affected_calls = 8;
constexpr std::size_t most_compared = 8;  // failures whose last call is compared with the others'

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

// What a rank did that a failure has ended: "failed in barrier #1 on dp[0,2] (peer_failed)". The
// reason is left out: the finding has said it.
std::string consequence_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const GangError& failure) {
    return fmt::format("failed in {} on {} ({})", to_string(failure.operation()), failure.gang(),
                       to_string(failure.kind()));
  } catch (...) {
    return "ended with an exception: " + text_of(error);
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

// The rank's handle of the gang, or what it has just let go of.
const GangState* gang_of(const RankState& rank, const GangInfo* info) {
  for (const auto& gang : rank.abandoned)
    if (gang->info.get() == info) return gang.get();
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    if (gang->state()->info.get() == info) return gang->state().get();
  return nullptr;
}

// " after all_reduce #3 on dp[0,2] at train.cc:41", a call of the rank's.
std::string after_text(const RankState& rank, const LastCall& call) {
  return call.gang == nullptr ? " before its first call" : " after " + call_text(rank, call);
}

// Gangs that the rank is a member of, as far as it still holds or has just let go of them.
std::vector<std::shared_ptr<GangState>> gangs_of(RankState& rank) {
  std::vector<std::shared_ptr<GangState>> gangs = std::move(rank.abandoned);
  rank.abandoned.clear();
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    gangs.push_back(gang->state());
  std::sort(gangs.begin(), gangs.end(),
            [](const auto& a, const auto& b) { return a->index < b->index; });
  gangs.erase(std::unique(gangs.begin(), gangs.end()), gangs.end());
  return gangs;
}

// The operation that a call is about: its own or, while it is queued on its rank's stream, the
// oldest that others of the gang have come to; null where nobody has.
const MatchSlot* slot_of(const GangState& gang, const PendingOperation& pending) {
  if (pending.slot != nullptr || is_point_to_point(pending.call().kind)) return pending.slot;
  return gang.active.empty() ? nullptr : gang.active.front();
}

// Who has come to an operation: ranks of its gang.
std::vector<int> members_of(const MatchSlot& slot) {
  std::vector<int> members;
  for (std::size_t member = 0; member < slot.members.size(); ++member)
    if (slot.members[member] != nullptr) members.push_back(static_cast<int>(member));
  return members;
}

std::vector<int> member_of(const GangState& gang, int root_rank) {
  const auto& ranks = gang.info->root_ranks;
  const auto place = std::find(ranks.begin(), ranks.end(), root_rank);
  return {static_cast<int>(place - ranks.begin())};
}

bool is_by_exception(const Finding& finding) {
  return finding.id == finding_id::rank_failed || finding.id == finding_id::use_after_close;
}

// Where the rank called its last collective on `gang` before it let go of it; empty if unknown.
std::string last_location_of(const GangState& gang, int root_rank) {
  const auto departure = std::ranges::find_if(gang.departures, [&](const Departure& candidate) {
    return gang.root_rank_of(candidate.member) == root_rank;
  });
  return departure == gang.departures.end() ? std::string() : to_string(departure->call_site);
}

// Lists the call of a rank that could not complete it since another had ended with an exception.
void note_affected(const PendingOperation& pending, Finding& finding) {
  const GangState& gang = *pending.gang;
  CallSummary call = summary_of(pending);
  if (!finding.divergence) {
    Divergence& divergence = finding.divergence.emplace();
    divergence.last_common = last_common_call(gang, pending.call());
    CallSummary& failed = divergence.next.emplace_back();
    failed.ranks = finding.ranks;
    failed.location = last_location_of(gang, finding.ranks.front());
    failed.note = "ended with an exception";
  }
  auto& next = finding.divergence->next;
  const auto same = std::ranges::find_if(next, [&call](const CallSummary& known) {
    return known.operation == call.operation && known.gang == call.gang &&
           known.location == call.location;
  });
  if (same != next.end())
    same->ranks.push_back(call.ranks.front());
  else if (next.size() < most_affected_calls)
    next.push_back(std::move(call));
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
      .gang = gang->label(),
      .operation = fmt::format("{} #{}", to_string(last.kind), last.sequence_number),
      .location = to_string(last.call_site)};
  std::map<std::string, std::vector<int>> others;  // by place
  for (std::size_t member = 0; member < gang->places->by_member.size(); ++member)
    others[to_string(gang->places->by_member[member])].push_back(
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

std::size_t add_rank_failure(Engine& engine, const Task& task, const std::exception_ptr& error) {
  Finding finding;
  finding.id = finding_id::rank_failed;
  finding.ranks = {task.rank->rank};
  std::string where;
  LastCall last;
  if (const std::optional<Refusal> refusal = refusal_of(error)) {
    if (refusal->is_closed_gang) finding.id = finding_id::use_after_close;
    finding.location = to_string(refusal->call_site);
    where = " at " + finding.location;
  } else if (knows_last_calls(engine)) {
    last = last_call_of(*task.rank);
    where = after_text(*task.rank, last);
    if (last.gang != nullptr) finding.location = to_string(last.call_site);
  }
  const std::string context =
      task.further ? fmt::format(" its context '{}'", task.further->name) : std::string();
  const std::size_t index = engine.findings().add_of_ranks(
      std::move(finding),
      fmt::format("ended{} with an exception{}: {}", context, where, text_of(error)));
  // Not of every rank of a world that fails as a whole.
  Finding& added = engine.findings().at(index);
  if (last.gang != nullptr && added.ranks.size() == 1 && index < most_compared)
    added.near_misses = calls_elsewhere(*task.rank, last);
  return index;
}

// The error of a gang that was aborted has left the program of `rank`: who aborted it is the cause.
std::size_t add_abort(Engine& engine, const BreakCause& cause, int rank,
                      const std::exception_ptr& error) {
  Finding finding;
  finding.id = finding_id::rank_failed;
  finding.ranks = {cause.aborted_by};
  std::string where;
  if (knows_last_calls(engine)) {
    if (cause.aborted_after.gang != nullptr)
      finding.location = to_string(cause.aborted_after.call_site);
    where = after_text(engine.rank_state(cause.aborted_by), cause.aborted_after);
  }
  finding.message = fmt::format("Rank {} aborted a gang{}, which ended the program of rank {}: {}",
                                cause.aborted_by, where, rank, text_of(error));
  return engine.findings().add(std::move(finding));
}

}  // namespace

void throw_gang_error(Engine& engine, const PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  RankState& rank = *pending.task->rank;
  if (gang.broken->finding != BreakCause::no_finding)
    if (Finding& finding = engine.findings().at(gang.broken->finding); is_by_exception(finding))
      note_affected(pending, finding);
  rank.told = gang.broken;
  GangFailure failure;
  failure.kind = gang.broken->kind;
  failure.gang = gang.label();
  failure.rank = pending.member;
  failure.operation = pending.call();
  failure.operation.label = {};
  failure.elapsed = engine.now() - pending.posted_at;
  failure.ranks_at_fault = gang.broken->ranks_at_fault;
  failure.reason = gang.broken->reason;
  throw GangError(std::move(failure));
}

void report_rank_failure(Engine& engine, Task& task, const std::exception_ptr& error) {
  RankState& rank = *task.rank;
  engine.rank_failed(task);
  std::size_t finding = rank.told ? rank.told->finding : BreakCause::no_finding;
  if (finding == BreakCause::no_finding && rank.told && rank.told->potential)
    finding = rank.told->finding = engine.findings().add(*rank.told->potential);
  if (finding != BreakCause::no_finding)
    engine.findings().add_consequence_of(rank.rank, finding, consequence_of(error));
  else if (rank.told && rank.told->aborted_by != no_rank)
    finding = rank.told->finding = add_abort(engine, *rank.told, rank.rank, error);
  else
    finding = add_rank_failure(engine, task, error);
  for (const auto& cause : rank.broken_by_unwinding) cause->finding = finding;
  rank.broken_by_unwinding.clear();
  for (const auto& gang : gangs_of(rank)) {
    if (gang->broken) continue;
    auto cause = std::make_shared<BreakCause>();
    cause->kind = GangErrorKind::peer_failed;
    cause->ranks_at_fault = member_of(*gang, rank.rank);
    cause->reason = fmt::format("rank {} ended with an exception", rank.rank);
    cause->finding = finding;
    engine.matching().break_gang(*gang, std::move(cause));
  }
}

void break_by_unwinding(Engine& engine, GangState& gang, const PendingOperation& pending) {
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {pending.member};
  cause->reason = fmt::format("an exception left {} of {}", to_string(pending.call()),
                              describe_members(gang, {pending.member}));
  if (!gang.broken) pending.task->rank->broken_by_unwinding.push_back(cause);
  engine.matching().break_gang(gang, cause);
}

Finding timeout_finding(const Engine& engine, const GangState& gang,
                        const PendingOperation& pending, const std::vector<int>& missing) {
  Finding finding;
  finding.id = finding_id::timed_out;
  finding.gang = gang.label();
  finding.operation = to_string(pending.call());
  finding.location = to_string(pending.call().call_site);
  std::vector<int> odd = missing;
  std::string who = describe_members(gang, missing) + " did not come";
  if (const MatchSlot* slot = slot_of(gang, pending)) {
    const auto members = static_cast<std::size_t>(gang.size());
    if (members > 2 && members - missing.size() < missing.size()) {
      odd = members_of(*slot);
      who = "only " + describe_members(gang, odd) + " came";
    }
    finding.divergence = first_divergence(engine, gang, gang.active.front()->members);
  }
  for (const int member : odd) finding.ranks.push_back(gang.root_rank_of(member));
  finding.message = fmt::format("{} on {} timed out after {}: {}.", finding.operation, finding.gang,
                                gang::to_string(pending.deadline - pending.posted_at), who);
  return finding;
}

void set_timeout(Engine& engine, const PendingOperation& pending, BreakCause& cause) {
  GangState& gang = *pending.gang;
  FaultInjector* faults = engine.faults();
  if (cause.ranks_at_fault.empty() && faults != nullptr)
    cause.ranks_at_fault = faults->cut_off(gang);
  Finding finding = timeout_finding(engine, gang, pending, cause.ranks_at_fault);
  // Where faults happen, timeouts are what a program is expected to deal with.
  if (faults != nullptr && faults->have_fired())
    cause.potential = std::make_shared<Finding>(std::move(finding));
  else
    cause.finding = engine.findings().add(std::move(finding));
}

void fail_monitored_barrier(Engine& engine, const PendingOperation& pending) {
  GangState& gang = *pending.gang;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::timeout;
  if (const MatchSlot* slot = slot_of(gang, pending))
    cause->ranks_at_fault = Matching::missing_members(*slot);
  set_timeout(engine, pending, *cause);
  if (!pending.operation->wait_all_ranks && !cause->ranks_at_fault.empty())
    cause->ranks_at_fault.resize(1);
  cause->reason = fmt::format("{} did not come", describe_members(gang, cause->ranks_at_fault));
  engine.matching().break_gang(gang, std::move(cause));
}

void report_open_gangs(Engine& engine) {
  for (const RankState& rank : engine.ranks()) {
    for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank()) {
      if (gang->is_closed()) continue;
      Finding finding;
      finding.id = finding_id::gang_not_closed;
      finding.ranks = {rank.rank};
      finding.gang = label_of(gang->info());
      // No call has made a root gang: of that, the last call of it.
      const bool is_root = gang->made_at().line == 0;
      const CallSite place = is_root ? gang->last_call().call_site : gang->made_at();
      std::string known;
      if (place.line != 0) {
        finding.location = to_string(place);
        known = fmt::format(", {} at {},", is_root ? "last called" : "made", finding.location);
      }
      std::string predicate =
          fmt::format("left {}{} open when every program had ended.", finding.gang, known);
      engine.findings().add_of_ranks(std::move(finding), std::move(predicate));
    }
  }
}

void detach_gangs(RankState& rank) noexcept {
  for (SimGang* gang = rank.gangs; gang != nullptr;) {
    SimGang* next = gang->next_of_rank();
    gang->detach();
    gang = next;
  }
  rank.gangs = nullptr;
}

LastCall last_call_of(const RankState& rank) {
  const SimGang* last_called = nullptr;
  std::uint64_t last_called_at = rank.last_called_at;
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank()) {
    if (gang->last_called_at() <= last_called_at) continue;
    last_called = gang;
    last_called_at = gang->last_called_at();
  }
  return last_called != nullptr ? last_called->last_call() : rank.last_call;
}

bool knows_last_calls(const Engine& engine) {
  return engine.options().backend == SimulatedBackend::sim;
}

std::string call_text(const RankState& rank, const LastCall& call) {
  const std::string number =
      is_point_to_point(call.kind) ? "" : fmt::format(" #{}", call.sequence_number);
  const GangState* gang = gang_of(rank, call.gang.get());
  return fmt::format("{}{} on {} at {}", to_string(call.kind), number,
                     gang != nullptr ? gang->label() : label_of(*call.gang),
                     to_string(call.call_site));
}

std::string describe_members(const GangState& gang, const std::vector<int>& members) {
  std::vector<int> ranks;
  for (const int member : members) ranks.push_back(gang.root_rank_of(member));
  std::sort(ranks.begin(), ranks.end());
  if (ranks.empty()) return "somebody";
  return (ranks.size() == 1 ? "rank " : "ranks ") + to_rank_ranges(ranks, 6);
}

}  // namespace gang::sim
