#include "sim/state/race_watch.h"

#include <algorithm>
#include <set>

#include "gang/hash.h"
#include "sim/state/gang_state.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_candidates = 8;
constexpr std::size_t most_remembered = 16;
// Messages that one receive is compared with. The oldest come first, so each message that waits is
// compared with those that are taken shortly before it.
constexpr std::size_t most_compared = 64;

std::uint64_t digest_of(DataType type, std::int64_t count, std::span<const std::byte> payload) {
  return hash_bytes(
      payload, mixed(static_cast<std::uint64_t>(count) << 8 | static_cast<std::uint64_t>(type)));
}

std::uint64_t digest_of(const PendingOperation& send) {
  const Elements& tensor = send.operation->input;
  return digest_of(send.call().data_type, send.call().count, {tensor.data(), tensor.size_bytes()});
}

bool accepts(const TakenMessage& taken, int source, int tag) noexcept {
  return source != taken.source && (taken.wanted_tag == any_tag || taken.wanted_tag == tag);
}

}  // namespace

bool RaceWatch::is_full() const noexcept { return candidates_.size() >= most_candidates; }

void RaceWatch::add(const GangState& gang, int receiver, const TakenMessage& taken, int source,
                    const CallSite& site) {
  RaceCandidate candidate;
  candidate.receiver = gang.root_rank_of(receiver);
  candidate.receive_index = taken.receive_index;
  candidate.taken_source = gang.root_rank_of(taken.source);
  candidate.other_source = gang.root_rank_of(source);
  const bool is_known = std::ranges::any_of(candidates_, [&candidate](const RaceCandidate& known) {
    return known.receiver == candidate.receiver && known.receive_index == candidate.receive_index &&
           known.other_source == candidate.other_source;
  });
  if (is_known) return;
  candidate.gang = gang.gang_label();
  candidate.call = taken.call;
  candidate.location = location_of(taken.receive_site);
  candidate.taken_location = location_of(taken.send_site);
  candidate.other_location = location_of(site);
  candidates_.push_back(std::move(candidate));
}

void RaceWatch::took(Mailbox& mailbox, const PendingOperation& receive, int source,
                     const Collective& send, std::span<const std::byte> payload) {
  if (is_full()) return;
  if (!mailbox.taken) mailbox.taken = std::make_unique<TakenMessages>();
  auto& recent = mailbox.taken->recent;
  if (recent.size() == most_remembered) recent.pop_front();
  const TakenMessage& taken =
      recent.emplace_back(TakenMessage{.source = source,
                                       .wanted_tag = receive.call().tag,
                                       .receive_index = receive.any_receive_index,
                                       .digest = digest_of(send.data_type, send.count, payload),
                                       .receive_site = receive.call().call_site,
                                       .send_site = send.call_site,
                                       .call = describe(receive.call(), *receive.gang->info)});
  const GangState& gang = *receive.gang;
  std::set<int> seen;  // only the oldest message of each source: the others queue behind it
  std::size_t left = most_compared;
  for (const Message& message : mailbox.buffered) {
    if (is_full() || left-- == 0) return;
    if (accepts(taken, message.source, message.tag) && seen.insert(message.source).second &&
        digest_of(message.data_type, message.count, message.payload) != taken.digest)
      add(gang, receive.member, taken, message.source, message.sent.call_site);
  }
  for (const PendingOperation* waiting : mailbox.sends) {
    if (is_full() || left-- == 0) return;
    if (accepts(taken, waiting->member, waiting->call().tag) &&
        seen.insert(waiting->member).second && digest_of(*waiting) != taken.digest)
      add(gang, receive.member, taken, waiting->member, waiting->call().call_site);
  }
}

void RaceWatch::sent(const Mailbox& mailbox, const PendingOperation& send) {
  if (is_full()) return;
  const std::uint64_t digest = digest_of(send);
  for (const TakenMessage& taken : mailbox.taken->recent)
    if (accepts(taken, send.member, send.call().tag) && digest != taken.digest && !is_full())
      add(*send.gang, send.call().peer, taken, send.member, send.call().call_site);
}

}  // namespace gang::sim
