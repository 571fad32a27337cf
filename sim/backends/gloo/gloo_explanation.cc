#include "sim/backends/gloo/gloo_explanation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gang/gloo/gloo_collectives.h"
#include "sim/backends/gloo/gloo_endpoint.h"
#include "sim/engine/engine.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/mismatch.h"
#include "sim/verdict/near_misses.h"

namespace gang::sim {
namespace {

using Calls = std::vector<PendingOperation*>;

// One gang, and the calls of its members in which dead contexts wait.
class StuckGang {
 public:
  StuckGang(World& world, const GangInfo& info) : gang_(world) {
    gang_.world = nullptr;  // unknown to the run
    gang_.info = {std::shared_ptr<void>(), &info};
  }

  void add(int member, const Collective& call, Task& context) {
    Operation& operation = operations_.emplace_back();
    operation.collective = call;
    PendingOperation& pending = pendings_.emplace_back(operation, gang_, member, context);
    if (call.kind == OperationKind::send)
      sends_.push_back(&pending);
    else if (call.kind == OperationKind::recv)
      receives_.push_back(&pending);
    else if (call.kind != OperationKind::batch)
      collectives_[call.sequence_number].push_back(&pending);
  }

  const GangState& gang() const noexcept { return gang_; }

  // The collectives that differ, of one operation; empty where there are none.
  Calls differing() const {
    for (const auto& [sequence, calls] : collectives_)
      if (std::ranges::any_of(calls, [&calls](const PendingOperation* call) {
            return tag_of(call->call()) != tag_of(calls.front()->call());
          }))
        return calls;
    return {};
  }

  // Sends, each with a receive that waits for another message of the same rank.
  std::vector<MessagePair> unmet() const {
    std::vector<MessagePair> pairs;
    Calls receives = receives_;
    for (PendingOperation* send : sends_) {
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

 private:
  GangState gang_;
  std::deque<Operation> operations_;
  std::deque<PendingOperation> pendings_;
  std::map<std::uint64_t, Calls> collectives_;  // by sequence number
  Calls sends_;
  Calls receives_;
};

// By their first rank. A meeting says which gang it is: several may have the same members.
std::vector<std::unique_ptr<StuckGang>> stuck_gangs(World& world, const BlockedWorld& blocked) {
  std::vector<std::unique_ptr<StuckGang>> gangs;
  std::map<const GlooMeeting*, StuckGang*> gang_of;
  for (const Task* context : blocked.dead_contexts()) {
    if (context->wait == nullptr || context->wait->reason != Wait::Reason::message) continue;
    const auto* buffer = dynamic_cast<const GlooBuffer*>(context->wait->message);
    if (buffer == nullptr || buffer->call() == nullptr) continue;
    const GlooEndpoint& endpoint = buffer->endpoint();
    StuckGang*& gang = gang_of[&endpoint.meeting()];
    if (gang == nullptr)
      gang = gangs.emplace_back(std::make_unique<StuckGang>(world, *buffer->gang())).get();
    gang->add(endpoint.rank, *buffer->call(), world.engine.contexts()[context->id]);
  }
  return gangs;
}

void add(const GangState& gang, const Calls& calls, VerdictCertainty& certainty,
         FindingLog& findings) {
  Finding finding = explain_mismatch(gang, calls, /*strict_blocking=*/false).finding;
  finding.certainty = certainty.of(*calls.front()->task);
  findings.add(std::move(finding));
}

}  // namespace

bool explain_gloo_deadlock(World& world, const BlockedWorld& blocked, VerdictCertainty& certainty,
                           FindingLog& findings) {
  const std::size_t before = findings.size();
  const auto gangs = stuck_gangs(world, blocked);
  std::vector<MessagePair> other_tags;
  for (const auto& stuck : gangs) {
    if (const Calls calls = stuck->differing(); !calls.empty())
      add(stuck->gang(), calls, certainty, findings);
    for (const auto& [send, receive] : stuck->unmet()) {
      const Collective& sent = send->call();
      const Collective& wanted = receive->call();
      if (sent.tag != wanted.tag)
        other_tags.push_back({send, receive});
      else if (sent.data_type != wanted.data_type || sent.count != wanted.count)
        add(stuck->gang(), {send, receive}, certainty, findings);
    }
  }
  std::size_t i = findings.size();
  report_other_tags(other_tags, certainty, findings);
  // They may be received in another order than they are sent in.
  for (; i < findings.size(); ++i) findings.at(i).certainty->sends = Dependence::open;
  return findings.size() > before;
}

}  // namespace gang::sim
