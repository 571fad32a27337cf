#include "sim/matching/mismatches.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "sim/matching/buffer_guard.h"
#include "sim/matching/diagnosis.h"
#include "sim/matching/matching.h"
#include "sim/state/world.h"

namespace gang::sim {

void Mismatches::add(PendingOperation& send, PendingOperation& receive) {
  send.status = receive.status = PendingStatus::mismatched;
  messages_.emplace_back(&send, &receive);
}

void Mismatches::end_messages(const GangState& gang) {
  std::vector<PendingOperation*> left;
  std::erase_if(messages_, [&](const auto& pair) {
    if (pair.first->gang != &gang) return false;
    left.insert(left.end(), {pair.first, pair.second});
    return true;
  });
  for (PendingOperation* message : left)
    if (!message->has_ended()) matching_.end(*message, PendingStatus::failed);
}

bool Mismatches::fail_complete() {
  if (gangs_.empty() && messages_.empty()) return false;
  // All are explained before the first one fails, which is a choice point for what comes later.
  std::vector<std::pair<GangState*, std::shared_ptr<const BreakCause>>> causes;
  std::ranges::sort(gangs_, {}, &GangState::index);
  for (GangState* gang : std::exchange(gangs_, {}))
    if (!gang->broken && !gang->active.empty() && gang->active.front()->is_mismatched)
      causes.emplace_back(gang, world_.diagnosis.mismatch(*gang, gang->active.front()->members));
  std::ranges::sort(messages_, {}, [](const auto& pair) {
    const PendingOperation& send = *pair.first;
    return std::tuple(send.gang->index, send.member, send.call().peer, send.call().sequence_number);
  });
  for (const auto& [send, receive] : messages_) {
    PendingOperation* const pair[] = {send, receive};
    causes.emplace_back(send->gang, world_.diagnosis.mismatch(*send->gang, pair));
  }
  for (auto& [gang, cause] : causes) matching_.break_gang(*gang, std::move(cause));
  return !causes.empty();
}

bool Mismatches::fail_without_memory(GangState& gang, std::span<PendingOperation* const> members) {
  const auto lost = std::ranges::find_if(members, [](const PendingOperation* member) {
    return member->guard != nullptr && member->guard->has_lost_memory();
  });
  if (lost == members.end()) return false;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {(*lost)->member};
  cause->reason = members_text(gang, cause->ranks_at_fault) + " freed a buffer of " +
                  to_string((*lost)->call());
  cause->finding = (*lost)->guard->report_loss(world_);
  const std::vector<PendingOperation*> left(members.begin(), members.end());
  matching_.break_gang(gang, std::move(cause));
  for (PendingOperation* member : left)
    if (!member->has_ended()) matching_.end(*member, PendingStatus::failed);
  return true;
}

bool Mismatches::fail_all() {
  bool found = fail_complete();
  for (GangState* gang : matching_.gangs()) {
    const auto slot = std::find_if(gang->active.begin(), gang->active.end(),
                                   [](const MatchSlot* s) { return s->is_mismatched; });
    if (slot == gang->active.end()) continue;
    const auto members = (*slot)->members;
    matching_.fail_mismatch(*gang, members);
    found = true;
  }
  return found;
}

}  // namespace gang::sim
