#include "sim/verdict/deadlock_verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/finding_text.h"
#include "sim/verdict/root_cause.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_ranks_kept = 16;

// `except` is one of `ranks`, or no_rank.
void keep_waits(BlockedCall& call, const std::vector<int>& ranks, int except = no_rank) {
  call.waits_for_count = ranks.size() - (except == no_rank ? 0 : 1);
  for (const int rank : ranks) {
    if (call.waits_for.size() == most_ranks_kept) return;
    if (rank != except) call.waits_for.push_back(rank);
  }
}

void describe_operation(const World& world, BlockedWorld& blocked, const PendingOperation& pending,
                        BlockedCall& call) {
  call.gang = pending.gang->gang_label();
  call.call = describe(pending.call(), *pending.gang->info);
  call.location = location_of(pending.call().call_site);
  if (pending.deadline != TimePoint::max())
    call.would_time_out_after_ns =
        static_cast<std::uint64_t>((pending.deadline - world.engine.now()).count());
  const PendingOperation& ahead = held_up_by(pending);
  if (&ahead != &pending)
    call.behind = {ahead.gang->gang_label(), describe(ahead.call(), *ahead.gang->info),
                   location_of(ahead.call().call_site)};
  call.waits_for_any = takes_any(ahead);
  keep_waits(call, blocked.awaited_by(pending), call.waits_for_any ? call.rank : no_rank);
}

void describe_message(const AwaitedMessage& message, BlockedCall& call) {
  call.waits_for_any = message.call() == nullptr && message.takes_any();
  keep_waits(call, message.awaited_ranks());
  if (const CallSite site = message.call_site(); site.line() != 0)
    call.location = location_of(site);
}

void describe_other(const World& world, const Task& context, BlockedCall& call) {
  CallOnGang wait = describe_wait(context);
  call.gang = std::move(wait.gang);
  call.call = std::move(wait.call);
  if (context.wait->deadline != TimePoint::max())
    call.would_time_out_after_ns =
        static_cast<std::uint64_t>((context.wait->deadline - world.engine.now()).count());
  if (context.wait->reason == Wait::Reason::message)
    describe_message(*context.wait->message(), call);
  if (context.wait->reason == Wait::Reason::join) keep_waits(call, {context.rank->rank});
  if (context.wait->reason == Wait::Reason::mutex && context.wait->context() != nullptr)
    keep_waits(call, {context.wait->context()->rank->rank});
}

// In the first finding, if there is one.
void note_who_goes_on(const BlockedWorld& blocked, FindingLog& findings) {
  if (findings.size() == 0) return;
  if (const std::vector<int> ranks = blocked.ranks_that_go_on(); !ranks.empty())
    findings.add_consequence(
        0,
        ranks_do(ranks, "was still running when", "were still running when") + " this was found");
}

}  // namespace

Verdict reach_verdict(const World& world, Moment moment) {
  BlockedWorld blocked(world, moment);
  if (blocked.dead_contexts().empty()) return {};
  VerdictCertainty certainty(world, blocked);
  FindingLog findings;
  report_root_causes(world, blocked, certainty, findings);
  if (moment == Moment::while_others_run) note_who_goes_on(blocked, findings);
  Verdict verdict;
  if (world.foreign_gangs != nullptr && findings.size() > 0)
    verdict.certainty = findings.at(0).certainty;
  verdict.blocked.reserve(blocked.dead_contexts().size());
  for (const Task* context : blocked.dead_contexts()) {
    BlockedCall& call = verdict.blocked.emplace_back();
    call.rank = context->rank->rank;
    call.is_core = blocked.is_core(*context);
    if (call.is_core && !verdict.certainty) verdict.certainty = certainty.of(*context);
    if (context->further) call.context = context->further->name;
    if (const PendingOperation* pending = BlockedWorld::operation_of(*context))
      describe_operation(world, blocked, *pending, call);
    else
      describe_other(world, *context, call);
    const Wait* wait = context->wait;
    if (wait != nullptr && wait->reason == Wait::Reason::any_operation) call.waits_for_any = true;
  }
  if (!verdict.certainty)
    verdict.certainty = Certainty{.schedules = world.engine.choices().schedules()};
  verdict.findings = findings.take();
  return verdict;
}

}  // namespace gang::sim
