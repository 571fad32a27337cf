#include "sim/backends/gloo/gloo_meeting.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "gang/hash.h"

namespace gang::sim {
namespace {

using Transfers = std::vector<GlooTransfer>;

// The first transfer on `slot`; transfers.end() if there is none.
Transfers::iterator find(Transfers& transfers, std::uint64_t slot) {
  return std::ranges::find(transfers, slot, &GlooTransfer::slot);
}

// Removes the first transfer on `slot` from `transfers`, if any.
bool take(Transfers& transfers, std::uint64_t slot, GlooTransfer& taken) {
  const auto found = find(transfers, slot);
  if (found == transfers.end()) return false;
  taken = *found;
  transfers.erase(found);
  return true;
}

void erase_of(Transfers& transfers, const GlooParty& party) noexcept {
  std::erase_if(transfers, [&party](const GlooTransfer& one) { return one.party == &party; });
}

bool has_any_of(const Transfers& transfers, const GlooParty& party) noexcept {
  return std::ranges::find(transfers, &party, &GlooTransfer::party) != transfers.end();
}

void fail_all(Transfers& transfers, GlooParty::Side side, const std::string& reason) {
  for (const GlooTransfer& transfer : std::exchange(transfers, {}))
    transfer.party->failed(side, reason);
}

template <typename Held>
void fail_held(std::vector<Held>& held, const std::string& reason) {
  for (const Held& one : std::exchange(held, {}))
    one.send.party->failed(GlooParty::Side::send, reason);
}

}  // namespace

GlooMeeting::GlooMeeting(std::string_view name, std::span<const int> root_ranks,
                         MessageFates* fates)
    : key_(fnv1a(std::as_bytes(std::span(name)))),
      root_ranks_(root_ranks.begin(), root_ranks.end()),
      fates_(fates),
      mailboxes_(root_ranks.size()) {}

GlooMeeting::Link& GlooMeeting::link(int source, int destination) {
  std::vector<Link>& links = mailboxes_[static_cast<std::size_t>(destination)].links;
  if (links.empty()) links.resize(mailboxes_.size());
  return links[static_cast<std::size_t>(source)];
}

const GlooMeeting::Link* GlooMeeting::find_link(int source, int destination) const noexcept {
  const std::vector<Link>& links = mailboxes_[static_cast<std::size_t>(destination)].links;
  return links.empty() ? nullptr : &links[static_cast<std::size_t>(source)];
}

void GlooMeeting::deliver(const GlooTransfer& send, const GlooTransfer& receive, int source,
                          int destination) const {
  if (send.bytes > receive.bytes) {
    const std::string reason = fmt::format(
        "a message of {} bytes matched a receive of {} bytes (over TCP, this ends the "
        "receiving process)",
        send.bytes, receive.bytes);
    send.party->failed(GlooParty::Side::send, reason);
    receive.party->failed(GlooParty::Side::receive, reason);
    return;
  }
  std::byte* const place = receive.party->data() + receive.offset;
  if (send.bytes != 0) std::memmove(place, send.party->data() + send.offset, send.bytes);
  if (send.bytes != 0 && send.corrupted_by != nullptr)
    fates_->corrupt({place, send.bytes}, *send.corrupted_by);
  send.party->completed(GlooParty::Side::send, destination, *receive.party);
  receive.party->completed(GlooParty::Side::receive, source, *send.party);
}

const std::string* GlooMeeting::send(int source, int destination, const GlooTransfer& transfer) {
  Link& link = this->link(source, destination);
  if (!link.closed_for_sender.empty()) return &link.closed_for_sender;
  if (fates_ == nullptr) {
    arrive(link, transfer, source, destination);
    return nullptr;
  }
  GlooTransfer send = transfer;
  if (!hold(link, send, source, destination)) arrive(link, send, source, destination);
  return nullptr;
}

// Returns whether the message is held back.
bool GlooMeeting::hold(Link& link, GlooTransfer& send, int source, int destination) {
  const LinkFate fate = fates_->fate_of(
      {.from = root_rank_of(source), .to = root_rank_of(destination), .bytes = send.bytes});
  const bool passes = fate.kind == LinkFate::Kind::passes;
  if (passes) send.corrupted_by = fate.fault;
  if (passes && link.held.empty()) return false;
  TimePoint until = fate.kind == LinkFate::Kind::is_held ? fate.until : TimePoint{0};
  if (fate.kind == LinkFate::Kind::is_lost) until = TimePoint::max();
  if (!link.held.empty()) until = std::max(until, link.held.back().until);
  link.held.push_back({send, until});
  return true;
}

void GlooMeeting::arrive(Link& link, const GlooTransfer& send, int source, int destination) {
  GlooTransfer receive;
  if (take(link.receives, send.slot, receive)) return deliver(send, receive, source, destination);
  auto& open = mailboxes_[static_cast<std::size_t>(destination)].open_receives;
  const auto willing = std::ranges::find_if(open, [&send, source](const OpenReceive& one) {
    return one.transfer.slot == send.slot && one.sources[static_cast<std::size_t>(source)];
  });
  if (willing == open.end()) {
    link.sends.push_back(send);
    link.sends.back().arrival = arrivals_++;
    return;
  }
  receive = willing->transfer;
  open.erase(willing);
  deliver(send, receive, source, destination);
}

void GlooMeeting::release(TimePoint now) {
  for (int destination = 0; destination < size(); ++destination) {
    for (int source = 0; source < size(); ++source) {
      if (find_link(source, destination) == nullptr) continue;
      Link& link = this->link(source, destination);
      while (!link.held.empty() && link.held.front().until <= now) {
        const GlooTransfer send = link.held.front().send;
        link.held.erase(link.held.begin());
        arrive(link, send, source, destination);
      }
    }
  }
}

const std::string* GlooMeeting::receive(int destination, int source, const GlooTransfer& transfer) {
  Link& link = this->link(source, destination);
  GlooTransfer send;
  if (!is_silent(source) && take(link.sends, transfer.slot, send)) {
    deliver(send, transfer, source, destination);
    return nullptr;
  }
  if (!link.closed_for_receiver.empty()) return &link.closed_for_receiver;
  link.receives.push_back(transfer);
  return nullptr;
}

void GlooMeeting::receive_from_any(int destination, const GlooTransfer& transfer,
                                   std::vector<bool> sources) {
  int first = -1;  // the source of the message that has waited longest
  std::uint64_t first_arrival = 0;
  for (int source = 0; source < size(); ++source) {
    if (!sources[static_cast<std::size_t>(source)] || is_silent(source)) continue;
    Transfers& sends = link(source, destination).sends;
    const auto waiting = find(sends, transfer.slot);
    if (waiting == sends.end() || (first >= 0 && waiting->arrival > first_arrival)) continue;
    first = source;
    first_arrival = waiting->arrival;
  }
  GlooTransfer send;
  if (first >= 0 && take(link(first, destination).sends, transfer.slot, send))
    return deliver(send, transfer, first, destination);
  auto& open = mailboxes_[static_cast<std::size_t>(destination)].open_receives;
  open.push_back({transfer, std::move(sources)});
}

void GlooMeeting::close(int member, int peer, const std::string& reason) {
  const std::string by_peer = "Connection closed by peer";
  Link& out = link(member, peer);
  Link& in = link(peer, member);
  if (out.closed_for_sender.empty()) out.closed_for_sender = reason;
  if (out.closed_for_receiver.empty()) out.closed_for_receiver = by_peer;
  if (in.closed_for_receiver.empty()) in.closed_for_receiver = reason;
  if (in.closed_for_sender.empty()) in.closed_for_sender = by_peer;
  fail_held(out.held, reason);
  fail_held(in.held, by_peer);
  fail_all(out.sends, GlooParty::Side::send, reason);
  fail_all(in.receives, GlooParty::Side::receive, reason);
  fail_all(out.receives, GlooParty::Side::receive, by_peer);
  fail_all(in.sends, GlooParty::Side::send, by_peer);
}

void GlooMeeting::member_gone(int member) {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != member) close(member, peer, "Connection closed by this rank");
}

void GlooMeeting::cancel(int member, const GlooParty& party) noexcept {
  Mailbox& own = mailboxes_[static_cast<std::size_t>(member)];
  std::erase_if(own.open_receives,
                [&party](const OpenReceive& one) { return one.transfer.party == &party; });
  for (Link& link : own.links) erase_of(link.receives, party);
  for (Mailbox& other : mailboxes_) {
    if (other.links.empty()) continue;
    Link& link = other.links[static_cast<std::size_t>(member)];
    erase_of(link.sends, party);
    std::erase_if(link.held, [&party](const Held& one) { return one.send.party == &party; });
  }
}

std::vector<int> GlooMeeting::sends_pending(int member, const GlooParty& party) const {
  std::vector<int> members;
  for (int peer = 0; peer < size(); ++peer) {
    const Link* link = find_link(member, peer);
    if (link == nullptr) continue;
    const bool is_held = std::ranges::any_of(
        link->held, [&party](const Held& one) { return one.send.party == &party; });
    if (is_held || has_any_of(link->sends, party)) members.push_back(peer);
  }
  return members;
}

std::vector<int> GlooMeeting::receives_pending(int member, const GlooParty& party) const {
  std::vector<int> members;
  for (int peer = 0; peer < size(); ++peer) {
    const Link* link = find_link(peer, member);
    if (link != nullptr && has_any_of(link->receives, party)) members.push_back(peer);
  }
  return members;
}

std::vector<int> GlooMeeting::open_receive_pending(int member, const GlooParty& party) const {
  const auto& open = mailboxes_[static_cast<std::size_t>(member)].open_receives;
  const auto found = std::ranges::find_if(
      open, [&party](const OpenReceive& one) { return one.transfer.party == &party; });
  std::vector<int> members;
  if (found == open.end()) return members;
  for (int peer = 0; peer < size(); ++peer)
    if (found->sources[static_cast<std::size_t>(peer)]) members.push_back(peer);
  return members;
}

}  // namespace gang::sim
