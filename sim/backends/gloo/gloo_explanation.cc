#include "sim/backends/gloo/gloo_explanation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "gang/gloo/gloo_collectives.h"
#include "sim/backends/gloo/gloo_endpoint.h"
#include "sim/backends/stuck_gang.h"
#include "sim/report/finding_log.h"
#include "sim/verdict/near_misses.h"

namespace gang::sim {
namespace {

using Calls = std::vector<PendingOperation*>;

// The calls of one gang's members in which dead contexts wait.
struct GlooCalls {
  GlooCalls(World& world, const GangInfo& info) : gang(world, info) {}

  StuckGang gang;
  std::map<std::uint64_t, Calls> collectives;  // by sequence number
  Calls sends;
  Calls receives;
};

void add(GlooCalls& calls, int member, const Collective& call) {
  PendingOperation* const pending = calls.gang.add(member, call);
  if (call.kind == OperationKind::send)
    calls.sends.push_back(pending);
  else if (call.kind == OperationKind::recv)
    calls.receives.push_back(pending);
  else if (call.kind != OperationKind::batch)
    calls.collectives[call.sequence_number].push_back(pending);
}

// Whether Gloo gives them different slots.
bool differ(const Calls& collectives) {
  return std::ranges::any_of(collectives, [&](const PendingOperation* call) {
    return tag_of(call->call()) != tag_of(collectives.front()->call());
  });
}

// Sends, each with a receive that waits for another message of the same rank.
std::vector<MessagePair> unmet_in(const GlooCalls& calls) {
  std::vector<MessagePair> pairs;
  Calls receives = calls.receives;
  for (PendingOperation* send : calls.sends) {
    const auto receive = std::ranges::find_if(receives, [send](const PendingOperation* one) {
      const int source = one->call().peer;
      return one->member == send->call().peer && (source == any_rank || source == send->member);
    });
    if (receive == receives.end()) continue;
    pairs.push_back({send, *receive});
    receives.erase(receive);
  }
  return pairs;
}

// By their first rank. A meeting says which gang it is: several may have the same members.
std::deque<GlooCalls> stuck_calls(World& world, const BlockedWorld& blocked) {
  std::deque<GlooCalls> gangs;
  std::map<const GlooMeeting*, GlooCalls*> gang_of;
  for (const Task* context : blocked.dead_contexts()) {
    if (context->wait == nullptr || context->wait->reason != Wait::Reason::message) continue;
    const auto* buffer = dynamic_cast<const GlooBuffer*>(context->wait->message());
    if (buffer == nullptr || buffer->call() == nullptr) continue;
    const GlooEndpoint& endpoint = buffer->endpoint();
    GlooCalls*& calls = gang_of[&endpoint.meeting()];
    if (calls == nullptr) calls = &gangs.emplace_back(world, *buffer->gang());
    add(*calls, endpoint.rank, *buffer->call());
  }
  return gangs;
}

void add_mismatch(const StuckGang& gang, const Calls& calls, VerdictCertainty& certainty,
                  FindingLog& findings) {
  Finding finding = gang.mismatch_of(calls);
  finding.certainty = certainty.of(*calls.front()->task);
  findings.add(std::move(finding));
}

}  // namespace

bool explain_gloo_deadlock(World& world, const BlockedWorld& blocked, VerdictCertainty& certainty,
                           FindingLog& findings) {
  const std::size_t before = findings.size();
  const std::deque<GlooCalls> gangs = stuck_calls(world, blocked);
  std::vector<MessagePair> other_tags;
  for (const GlooCalls& calls : gangs) {
    const auto odd = std::ranges::find_if(
        calls.collectives, [](const auto& operation) { return differ(operation.second); });
    if (odd != calls.collectives.end()) add_mismatch(calls.gang, odd->second, certainty, findings);
    for (const auto& [send, receive] : unmet_in(calls)) {
      const Collective& sent = send->call();
      const Collective& wanted = receive->call();
      if (sent.tag != wanted.tag)
        other_tags.push_back({send, receive});
      else if (sent.data_type != wanted.data_type || sent.count != wanted.count)
        add_mismatch(calls.gang, {send, receive}, certainty, findings);
    }
  }
  WaitingCalls sends;
  WaitingCalls receives;
  std::vector<WaitingCalls> collectives;
  for (const GlooCalls& calls : gangs) {
    sends.insert(sends.end(), calls.sends.begin(), calls.sends.end());
    receives.insert(receives.end(), calls.receives.begin(), calls.receives.end());
    if (calls.collectives.empty()) continue;
    const Calls& oldest = calls.collectives.begin()->second;
    collectives.emplace_back(oldest.begin(), oldest.end());
  }
  report_collectives_on_two_gangs(collectives, certainty, findings);
  std::size_t i = findings.size();
  report_other_tags(other_tags, certainty, findings);
  report_messages_on_two_gangs(sends, receives, certainty, findings);
  // They may be received in another order than they are sent in.
  for (; i < findings.size(); ++i) findings.at(i).certainty->sends = Dependence::open;
  return findings.size() > before;
}

}  // namespace gang::sim
