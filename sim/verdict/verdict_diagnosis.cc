#include "sim/verdict/verdict_diagnosis.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/matching/interference.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/first_divergence.h"
#include "sim/verdict/mismatch.h"
#include "sim/verdict/near_misses.h"
#include "sim/verdict/verdict_certainty.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_affected_calls = 8;

bool is_by_exception(const Finding& finding) {
  return finding.id == finding_id::rank_failed || finding.id == finding_id::use_after_close;
}

// Where the rank called its last collective on `gang` before it let go of it; empty if unknown.
SourceLocation last_location_of(const GangState& gang, int root_rank) {
  const auto& ranks = gang.info->root_ranks;
  const auto place = std::ranges::find(ranks, root_rank);
  if (place == ranks.end()) return {};
  const Departure* departure = gang.departure_of(static_cast<int>(place - ranks.begin()));
  return departure == nullptr ? SourceLocation() : location_of(departure->call_site);
}

// Lists the call of a rank that could not complete it since another had ended with an exception.
void note_affected(const World& world, const PendingOperation& pending, const BreakCause& cause,
                   Finding& finding) {
  const GangState& gang = *pending.gang;
  CallSummary call = summary_of(pending);
  if (!finding.divergence) {
    Divergence& divergence = finding.divergence.emplace();
    add_common_past(gang, pending.call(), divergence);
    CallSummary& failed = divergence.next.emplace_back();
    failed.ranks = finding.ranks;
    failed.location =
        finding.location.empty() ? last_location_of(gang, finding.ranks.front()) : finding.location;
    failed.note = cause.aborted_by == no_rank ? world.rank(failed.ranks.front()).failure()
                                              : "aborted the gang";
  }
  auto& next = finding.divergence->next;
  const auto same = std::ranges::find_if(next, [&call](const CallSummary& known) {
    return known.call == call.call && known.gang == call.gang &&
           is_same_line(known.location, call.location);
  });
  if (same != next.end())
    same->ranks.push_back(call.ranks.front());
  else if (next.size() < most_affected_calls)
    next.push_back(std::move(call));
}

// Who has come to an operation: ranks of its gang.
std::vector<int> members_of(const MatchSlot& slot) {
  std::vector<int> members;
  for (std::size_t member = 0; member < slot.members.size(); ++member)
    if (slot.members[member] != nullptr) members.push_back(static_cast<int>(member));
  return members;
}

// Whom a message to or from `member` waits for: that one, unless it waits itself in a message of
// the gang, and so on. Members of `gang`; in a circle, the first.
std::vector<int> awaited_through(const World& world, const GangState& gang, int member) {
  std::vector<int> awaited = {member};
  while (awaited.size() <= static_cast<std::size_t>(gang.size())) {
    const Wait* wait = world.engine.contexts().program_of(gang.root_rank_of(awaited.back())).wait;
    if (wait == nullptr || wait->reason != Wait::Reason::operation) return awaited;
    const PendingOperation& pending = *wait->operations().front();
    if (pending.gang != &gang || pending.has_ended() || !is_point_to_point(pending.call().kind) ||
        pending.call().peer < 0)
      return awaited;
    awaited.push_back(pending.call().peer);
  }
  return {member};
}

Finding timeout_finding(const World& world, const GangState& gang, const PendingOperation& pending,
                        const std::vector<int>& missing) {
  Finding finding;
  finding.id = finding_id::timed_out;
  finding.gang = gang.gang_label();
  finding.call = describe(pending.call(), *pending.gang->info);
  finding.location = location_of(pending.call().call_site);
  std::vector<int> odd = missing;
  std::string who = members_text(gang, missing) + " did not come";
  if (const MatchSlot* slot = slot_of(gang, pending)) {
    const auto members = static_cast<std::size_t>(gang.size());
    if (members - missing.size() < missing.size()) {
      odd = members_of(*slot);
      who = "only " + members_text(gang, odd) + " came";
    }
    finding.divergence = first_divergence(world, gang, gang.active.front()->members);
  } else if (missing.size() == 1) {
    const std::vector<int> awaited = awaited_through(world, gang, missing.front());
    odd = {awaited.back()};
    if (awaited.size() > 1)
      who = fmt::format("{} waited{} for {}, which did not come", members_text(gang, missing),
                        awaited.size() > 2 ? ", in the end," : "", members_text(gang, odd));
  }
  for (const int member : odd) finding.ranks.push_back(gang.root_rank_of(member));
  finding.message =
      fmt::format("{} on {} timed out after {}: {}.", to_string(finding.call), gang.label(),
                  gang::to_string(pending.deadline - pending.posted_at), who);
  return finding;
}

}  // namespace

std::shared_ptr<const BreakCause> VerdictDiagnosis::mismatch(
    GangState& gang, std::span<PendingOperation* const> members) {
  Mismatch mismatch = explain_mismatch(
      gang, members, {world_.options.strict_blocking, world_.options.strict_labels});
  // A buffered message is found at once, when it is received, while others go on; they might have
  // broken the gang before.
  const bool others_go_on = gang.size() > 2 && members.front() != nullptr &&
                            members.front()->status == PendingStatus::complete;
  mismatch.finding.certainty = Certainty{
      .schedules = others_go_on ? Schedules::at_least_this : world_.engine.choices().schedules()};
  const auto first = std::ranges::find_if(
      members, [](const PendingOperation* member) { return member != nullptr; });
  if (members.size() == static_cast<std::size_t>(gang.size()) &&
      !is_point_to_point((*first)->call().kind))
    mismatch.finding.divergence = first_divergence(world_, gang, members);
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::mismatch;
  cause->ranks_at_fault = mismatch.odd_members;
  cause->reason = full_message(mismatch.finding);
  // Calls that two threads make at the same time come in any order.
  const auto known = used_at_once_.find(gang.index);
  if (known == used_at_once_.end()) {
    cause->finding = world_.findings.add(std::move(mismatch.finding));
  } else {
    cause->finding = known->second;
    world_.findings.add_consequence(known->second, "calls differed: " + mismatch.finding.message);
  }
  return cause;
}

void VerdictDiagnosis::timed_out(const PendingOperation& pending, BreakCause& cause) {
  const GangState& gang = *pending.gang;
  Interference* interference = world_.interference;
  if (cause.ranks_at_fault.empty() && interference != nullptr)
    cause.ranks_at_fault = interference->links().cut_off(gang);
  Finding finding = timeout_finding(world_, gang, pending, cause.ranks_at_fault);
  // An error that the program handles is none of its bugs.
  cause.finding_if_fatal = std::make_shared<const Finding>(std::move(finding));
  if (interference == nullptr || !interference->have_fired())
    timeouts_.push_back(cause.finding_if_fatal);
}

std::vector<Finding> VerdictDiagnosis::take_handled(const std::vector<Finding>& findings) {
  std::vector<Finding> handled;
  for (const std::shared_ptr<const Finding>& timeout : std::exchange(timeouts_, {})) {
    const bool is_fatal = std::ranges::any_of(findings, [&timeout](const Finding& finding) {
      return finding.id == timeout->id && finding.message == timeout->message;
    });
    if (!is_fatal) handled.push_back(*timeout);
  }
  return handled;
}

void VerdictDiagnosis::failure_reaches(const PendingOperation& pending) {
  const BreakCause& cause = *pending.gang->broken;
  if (cause.finding == BreakCause::no_finding) return;
  Finding& finding = world_.findings.at(cause.finding);
  if (is_by_exception(finding)) note_affected(world_, pending, cause, finding);
}

void VerdictDiagnosis::used_at_once(const PendingOperation& pending) {
  if (world_.engine.is_over()) return;  // the other call has been cut short
  Finding finding = finding_for(pending, finding_id::concurrent_use);
  finding.ranks = {pending.task->rank->rank};
  std::string predicate = fmt::format(
      "called {}{} while another thread of the same rank was still in a call of that gang; a gang "
      "is "
      "used by one thread at a time.",
      to_string(finding.call), place_text(pending.call().call_site));
  const std::size_t index = world_.findings.add_of_ranks(std::move(finding), std::move(predicate));
  used_at_once_.try_emplace(pending.gang->index, index);
}

std::size_t VerdictDiagnosis::dropped(const PendingOperation& pending) {
  if (world_.options.ignored_leaks.unwaited_work) return BreakCause::no_finding;
  Finding finding = finding_for(pending, finding_id::unwaited_work);
  finding.ranks = {pending.task->rank->rank};
  std::string predicate =
      fmt::format("dropped {}{} without waiting for it.", to_string(finding.call),
                  place_text(pending.call().call_site));
  return world_.findings.add_of_repeated_call(std::move(finding), std::move(predicate));
}

void VerdictDiagnosis::unreceived(const GangState& gang) {
  if (gang.broken) return;
  const auto has_some = [](const Mailbox& mailbox) { return !mailbox.buffered_messages().empty(); };
  if (std::ranges::none_of(gang.mailboxes, has_some)) return;
  // Its receiver may be gone, or may have given up.
  if (world_.interference != nullptr && world_.interference->have_fired()) return;
  for (std::size_t member = 0; member < gang.mailboxes.size(); ++member) {
    for (const Message& message : gang.mailboxes[member].buffered_messages()) {
      Finding finding;
      finding.id = finding_id::unreceived_message;
      const int source = gang.root_rank_of(message.source);
      const int destination = gang.root_rank_of(static_cast<int>(member));
      finding.ranks = {source, destination};
      finding.gang = gang.gang_label();
      finding.call = describe(message.sent, *gang.info);
      finding.location = location_of(message.sent.call_site);
      finding.message = fmt::format("Rank {} sent a message to rank {}{} that was never received.",
                                    source, destination, place_text(message.sent.call_site));
      const CallSummary left{.ranks = {source},
                             .gang = finding.gang,
                             .call = finding.call,
                             .location = finding.location};
      finding.near_misses =
          taken_instead(gang, {static_cast<int>(member), message.source, message.sent.tag}, left);
      world_.findings.add(std::move(finding));
    }
  }
}

}  // namespace gang::sim
