#include "sim/matching/sole_senders.h"

#include <algorithm>
#include <limits>

#include "sim/engine/engine.h"
#include "sim/matching/sim_work.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_compared = 64;

bool takes_tag(int wanted, int tag) noexcept { return wanted == any_tag || wanted == tag; }

// Collectives of the gang that the member has called, as far as the gang knows them.
std::uint64_t collectives_called(const GangState& gang, int member) {
  const auto has_come = [member](const MatchSlot* slot) {
    return slot->members[static_cast<std::size_t>(member)] != nullptr;
  };
  return gang.base_sequence +
         static_cast<std::uint64_t>(std::ranges::count_if(gang.active, has_come));
}

// Whether the rank has started collectives of the gang and does not know that they have ended.
bool has_unobserved_collectives(const RankState& rank, const GangState& gang) {
  for (SimWork* work = rank.works; work != nullptr; work = work->next_of_rank())
    if (const PendingOperation& pending = work->pending();
        pending.gang == &gang && !is_point_to_point(pending.call().kind) && !work->is_observed())
      return true;
  return false;
}

// Whether another sender's message waits that the receive could take. True if too many wait.
bool has_other_sender(const Mailbox& mailbox, int wanted_tag, int source) {
  std::size_t left = most_compared;
  for (const Message& message : mailbox.buffered_messages())
    if (left-- == 0 || (message.source != source && takes_tag(wanted_tag, message.tag)))
      return true;
  for (const PendingOperation* send : mailbox.sends)
    if (left-- == 0 || (send->member != source && takes_tag(wanted_tag, send->call().tag)))
      return true;
  return false;
}

}  // namespace

bool could_take_another(const GangState& gang, Mailbox& mailbox, const PendingOperation& receive,
                        int source) {
  const int wanted_tag = receive.call().tag;
  if (has_other_sender(mailbox, wanted_tag, source)) return true;
  // A started receive may end after later calls of its rank.
  const std::uint64_t calls = receive.form != CallForm::blocking
                                  ? std::numeric_limits<std::uint64_t>::max()
                                  : collectives_called(gang, receive.member);
  auto& known = mailbox.sole_senders;
  const auto place = std::ranges::find(known, wanted_tag, &SoleSender::wanted_tag);
  if (place == known.end()) {
    known.push_back({wanted_tag, source, calls, gang.world->engine.now()});
  } else {
    place->source = source;
    place->calls = std::max(place->calls, calls);
    place->taken_at = gang.world->engine.now();
  }
  return false;
}

bool could_have_come_first(const GangState& gang, const Mailbox& mailbox,
                           const PendingOperation& send) {
  return std::ranges::any_of(mailbox.sole_senders, [&](const SoleSender& sole) {
    if (sole.source == send.member || !takes_tag(sole.wanted_tag, send.call().tag)) return false;
    if (send.posted_at > sole.taken_at) return false;
    const bool knows_of_receive =
        gang.base_sequence > sole.calls && !has_unobserved_collectives(*send.task->rank, gang);
    return !knows_of_receive;
  });
}

}  // namespace gang::sim
