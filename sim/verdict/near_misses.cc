#include "sim/verdict/near_misses.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/matching/matching.h"
#include "sim/report/finding_log.h"
#include "sim/state/world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_near_misses = 4;

// By how many more messages taken from another source that one stands out.
constexpr int least_surplus = 2;

using Calls = WaitingCalls;

std::vector<int> ranks_of(const Calls& calls) {
  std::vector<int> ranks;
  for (const PendingOperation* call : calls)
    ranks.push_back(call->gang->root_rank_of(call->member));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

CallSummary summary_of(const Calls& calls) {
  CallSummary summary = sim::summary_of(*calls.front());
  summary.ranks = ranks_of(calls);
  return summary;
}

// -- Messages that would match if their tags were equal --

// Pairs of messages from the same two lines: one cause.
struct OtherTags {
  Calls sends;
  Calls receives;  // one for each of `sends`
};

// "tag 3", "tags 3, 5, 7, 9, ...": of each call, unless they are all the same.
std::string tags_text(const Calls& calls) {
  constexpr std::size_t most_tags = 4;
  std::vector<std::string> tags;
  for (const PendingOperation* call : calls)
    tags.push_back(call->call().tag == any_tag ? "any" : std::to_string(call->call().tag));
  if (std::ranges::all_of(tags, [&tags](const std::string& tag) { return tag == tags.front(); }))
    return "tag " + tags.front();
  const bool is_cut = tags.size() > most_tags;
  tags.resize(std::min(tags.size(), most_tags));
  return fmt::format("tags {}{}", fmt::join(tags, ", "), is_cut ? ", ..." : "");
}

Finding tag_finding(const OtherTags& pairs) {
  const PendingOperation& send = *pairs.sends.front();
  const PendingOperation& receive = *pairs.receives.front();
  Finding finding = finding_for(receive, finding_id::mismatch_tag);
  const CallSummary sent = summary_of(pairs.sends);
  const CallSummary wanted = summary_of(pairs.receives);
  std::ranges::set_union(sent.ranks, wanted.ranks, std::back_inserter(finding.ranks));
  finding.near_misses = {{.first = sent, .second = wanted, .field = "tag"}};
  const bool is_one = pairs.sends.size() == 1;
  const std::string_view source = takes_any(receive) ? "any rank" : is_one ? "it" : "them";
  finding.message =
      fmt::format("{} with {} at {}; {} from {} with {} at {}.",
                  capitalised(ranks_do(sent.ranks, "sends", "send")), tags_text(pairs.sends),
                  to_string(send.call().call_site), ranks_do(wanted.ranks, "receives", "receive"),
                  source, tags_text(pairs.receives), to_string(finding.location));
  finding.detail = "They would match if the tags were equal.";
  return finding;
}

// By source, ascending: which one came first depends on the schedule.
using SendsBySource = std::map<int, PendingOperation*>;

// The first send of each source that waits in `mailbox`.
SendsBySource first_sends(const Mailbox& mailbox) {
  SendsBySource first;
  for (PendingOperation* send : mailbox.sends) first.try_emplace(send->member, send);
  return first;
}

// The first message of each pair of ranks, and the receive that waits for another one.
std::vector<MessagePair> other_tags_in(const World& world) {
  std::vector<MessagePair> pairs;
  for (const GangState* gang : world.matching.gangs()) {
    for (const Mailbox& mailbox : gang->mailboxes) {
      if (mailbox.receives.empty() || mailbox.sends.empty()) continue;
      auto sends = first_sends(mailbox);
      for (PendingOperation* receive : mailbox.receives) {
        const auto send = takes_any(*receive) ? sends.begin() : sends.find(receive->call().peer);
        if (send == sends.end()) continue;
        pairs.push_back({send->second, receive});
        sends.erase(send);  // one for each pair of ranks
      }
    }
  }
  return pairs;
}

// -- One operation on two gangs --

// The calls at the oldest operation of `gang`.
Calls calls_at(const GangState& gang) {
  Calls calls;
  for (const PendingOperation* member : gang.active.front()->members)
    if (member != nullptr) calls.push_back(member);
  return calls;
}

// Whether a member that has not arrived at the oldest operation of `gang` has launched it anyway.
bool is_queued_elsewhere(const World& world, const GangState& gang) {
  return std::ranges::any_of(gang.info->root_ranks, [&world, &gang](int rank) {
    return has_launched(world.rank(rank), gang);
  });
}

Finding mix_up_finding(const Calls& few, const Calls& many) {
  const PendingOperation& odd = *few.front();
  const PendingOperation& usual = *many.front();
  Finding finding = finding_for(odd, finding_id::mismatch_gang);
  finding.ranks = many.size() == few.size() ? odd.gang->info->root_ranks : ranks_of(few);
  finding.near_misses = {{.first = summary_of(few), .second = summary_of(many), .field = "gang"}};
  finding.message = fmt::format(
      "{} called {} on gang {} at {}; {} called it on gang {} at {}, which has the same members.",
      capitalised(ranks_text(ranks_of(few))), to_string(odd.call().kind), odd.gang->info->name,
      to_string(finding.location), ranks_text(ranks_of(many)), usual.gang->info->name,
      to_string(usual.call().call_site));
  return finding;
}

// At the oldest operation of each gang.
std::vector<Calls> collectives_in(const World& world) {
  std::vector<Calls> collectives;
  for (const GangState* gang : world.matching.gangs())
    if (!gang->active.empty() && gang->active.front()->arrived != 0 &&
        !is_queued_elsewhere(world, *gang))
      collectives.push_back(calls_at(*gang));
  return collectives;
}

// A message's two ends, as root ranks, and its tag.
using Link = std::tuple<int, int, int>;

Link link_of(const PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  const int own = gang.root_rank_of(pending.member);
  const int peer = gang.root_rank_of(pending.call().peer);
  return pending.call().kind == OperationKind::send ? Link{own, peer, pending.call().tag}
                                                    : Link{peer, own, pending.call().tag};
}

using SendsByLink = std::map<Link, const PendingOperation*>;

bool have_one_set_of_members(const GangState& a, const GangState& b) {
  std::vector<int> ranks = a.info->root_ranks;
  std::vector<int> others = b.info->root_ranks;
  std::ranges::sort(ranks);
  std::ranges::sort(others);
  return ranks == others;
}

// A rank that receives from itself may mean a gang with the same members in another order: the send
// that waits for it there.
SendsByLink::iterator send_to_itself(SendsByLink& sends, const PendingOperation& receive) {
  const int own = receive.gang->root_rank_of(receive.member);
  return std::ranges::find_if(sends, [&](const auto& entry) {
    const auto& [source, destination, tag] = entry.first;
    return destination == own && source != own && tag == receive.call().tag &&
           have_one_set_of_members(*entry.second->gang, *receive.gang);
  });
}

// "pair[1,0]", with the ranks in the order of the gang.
std::string ordered_label(const GangState& gang) {
  if (std::ranges::is_sorted(gang.info->root_ranks)) return gang.label();
  return fmt::format("{}[{}]", gang.info->name, rank_list_text(gang.info->root_ranks));
}

Finding message_on_two_gangs(const PendingOperation& send, const PendingOperation& receive) {
  Finding finding = finding_for(receive, finding_id::mismatch_gang);
  finding.ranks = {send.gang->root_rank_of(send.member),
                   receive.gang->root_rank_of(receive.member)};
  finding.near_misses = {
      {.first = sim::summary_of(send), .second = sim::summary_of(receive), .field = "gang"}};
  finding.message =
      fmt::format("Rank {} sends on gang {} at {}; rank {} receives from {} on gang {} at {}.",
                  finding.ranks[0], ordered_label(*send.gang), to_string(send.call().call_site),
                  finding.ranks[1], receive.call().peer == receive.member ? "its own member" : "it",
                  ordered_label(*receive.gang), to_string(finding.location));
  return finding;
}

// All that wait in one queue of each mailbox.
template <typename Queue>
Calls messages_in(const World& world, Queue Mailbox::* queue) {
  Calls messages;
  for (const GangState* gang : world.matching.gangs())
    for (const Mailbox& mailbox : gang->mailboxes)
      for (const PendingOperation* message : mailbox.*queue) messages.push_back(message);
  return messages;
}

// Receives from any source, and sends to them of members of their gang, on another gang.
std::vector<NearMiss> find_sends_on_other_gangs(const World& world) {
  const auto gangs = world.matching.gangs();
  std::map<std::pair<int, int>, Calls> receives;  // by receiving root rank and tag
  for (const GangState* gang : gangs)
    for (const Mailbox& mailbox : gang->mailboxes)
      for (const PendingOperation* receive : mailbox.receives)
        if (takes_any(*receive))
          receives[{gang->root_rank_of(receive->member), receive->call().tag}].push_back(receive);
  std::vector<NearMiss> misses;
  if (receives.empty()) return misses;
  const auto meets = [](const PendingOperation& send, const PendingOperation& receive) {
    const auto& members = receive.gang->info->root_ranks;
    return send.gang != receive.gang && send.call().data_type == receive.call().data_type &&
           send.call().count == receive.call().count &&
           std::ranges::count(members, send.gang->root_rank_of(send.member)) != 0;
  };
  for (const GangState* gang : gangs) {
    for (const Mailbox& mailbox : gang->mailboxes)
      for (const PendingOperation* send : mailbox.sends) {
        const int destination = gang->root_rank_of(send->call().peer);
        auto asked = receives.find({destination, send->call().tag});
        if (asked == receives.end()) asked = receives.find({destination, any_tag});
        if (asked == receives.end() || misses.size() == most_near_misses) continue;
        for (const PendingOperation* receive : asked->second)
          if (meets(*send, *receive)) {
            misses.push_back({sim::summary_of(*send), sim::summary_of(*receive), "gang"});
            break;
          }
      }
  }
  return misses;
}

}  // namespace

void report_other_tags(const std::vector<MessagePair>& pairs, VerdictCertainty& certainty,
                       FindingLog& findings) {
  using Side = std::pair<std::string, std::string>;  // the places of both ends
  std::vector<OtherTags> causes;
  std::map<Side, std::size_t> cause_of;
  for (const auto& [send, receive] : pairs) {
    const Side side{to_string(send->call().call_site), to_string(receive->call().call_site)};
    const auto [place, is_new] = cause_of.try_emplace(side, causes.size());
    if (is_new) causes.emplace_back();
    causes[place->second].sends.push_back(send);
    causes[place->second].receives.push_back(receive);
  }
  for (const OtherTags& one : causes) {
    Finding finding = tag_finding(one);
    finding.certainty = certainty.of(*one.receives.front()->task);
    findings.add(std::move(finding));
  }
}

void report_collectives_on_two_gangs(const std::vector<WaitingCalls>& collectives,
                                     VerdictCertainty& certainty, FindingLog& findings) {
  std::map<std::vector<int>, const Calls*> first_with;  // by members
  for (const Calls& calls : collectives) {
    std::vector<int> members = calls.front()->gang->info->root_ranks;
    std::sort(members.begin(), members.end());
    const auto [place, is_new] = first_with.try_emplace(std::move(members), &calls);
    if (is_new) continue;
    const Calls* many = place->second;
    const Calls* few = &calls;
    if (many->front()->call().kind != few->front()->call().kind) continue;
    if (many->size() < few->size()) std::swap(many, few);
    Finding finding = mix_up_finding(*few, *many);
    finding.certainty = certainty.of(*few->front()->task);
    findings.add(std::move(finding));
  }
}

void report_messages_on_two_gangs(const WaitingCalls& sends, const WaitingCalls& receives,
                                  VerdictCertainty& certainty, FindingLog& findings) {
  SendsByLink sends_by_link;
  for (const PendingOperation* send : sends) sends_by_link.try_emplace(link_of(*send), send);
  for (const PendingOperation* receive : receives) {
    if (receive->call().peer == any_rank) continue;
    auto send = sends_by_link.find(link_of(*receive));
    if (receive->call().peer == receive->member) send = send_to_itself(sends_by_link, *receive);
    if (send == sends_by_link.end() || send->second->gang == receive->gang) continue;
    Finding finding = message_on_two_gangs(*send->second, *receive);
    finding.certainty = certainty.of(*receive->task);
    findings.add(std::move(finding));
    sends_by_link.erase(send);
  }
}

void report_near_misses(const World& world, VerdictCertainty& certainty, FindingLog& findings) {
  report_other_tags(other_tags_in(world), certainty, findings);
  report_collectives_on_two_gangs(collectives_in(world), certainty, findings);
  report_messages_on_two_gangs(messages_in(world, &Mailbox::sends),
                               messages_in(world, &Mailbox::receives), certainty, findings);
}

std::vector<NearMiss> find_other_peers(const World& world) {
  std::vector<NearMiss> misses = find_sends_on_other_gangs(world);
  const auto add = [&misses](const PendingOperation& send, const PendingOperation& receive,
                             const char* field) {
    if (misses.size() < most_near_misses && send.call().count == receive.call().count &&
        send.call().data_type == receive.call().data_type)
      misses.push_back({sim::summary_of(send), sim::summary_of(receive), field});
  };
  for (const GangState* gang : world.matching.gangs()) {
    std::map<std::pair<int, int>, const PendingOperation*> sends_of;  // by source and tag
    for (const Mailbox& mailbox : gang->mailboxes)
      for (const PendingOperation* send : mailbox.sends)
        sends_of.try_emplace({send->member, send->call().tag}, send);
    for (const Mailbox& mailbox : gang->mailboxes)
      for (const PendingOperation* send : mailbox.sends) {
        if (mailbox.taken.most() < least_surplus || misses.size() >= most_near_misses) break;
        for (NearMiss& miss :
             taken_instead(*gang, {send->call().peer, send->member, send->call().tag},
                           sim::summary_of(*send)))
          if (misses.size() < most_near_misses) misses.push_back(std::move(miss));
      }
    for (const Mailbox& mailbox : gang->mailboxes) {
      if (mailbox.receives.empty()) continue;
      const SendsBySource offers = first_sends(mailbox);
      for (const PendingOperation* receive : mailbox.receives) {
        const auto send = sends_of.find({receive->call().peer, receive->call().tag});
        if (send != sends_of.end() && send->second->call().peer != receive->member)
          add(*send->second, *receive, "destination");
        if (offers.empty() || receive->call().peer == any_rank) continue;
        const PendingOperation& offered = *offers.begin()->second;
        if (offered.member != receive->call().peer && offered.call().tag == receive->call().tag)
          add(offered, *receive, "source");
      }
    }
  }
  return misses;
}

std::vector<NearMiss> taken_instead(const GangState& gang, const LeftMessage& left,
                                    const CallSummary& left_call) {
  std::vector<NearMiss> misses;
  if (gang.mailboxes.empty()) return misses;
  const TakenTally& taken = gang.mailboxes[static_cast<std::size_t>(left.destination)].taken;
  const int least = taken.count_of(left.tag, left.source) + least_surplus;
  for (const TakenFrom& from : taken.with_tag(left.tag, least)) {
    if (misses.size() == most_near_misses) break;
    misses.push_back({left_call,
                      {.ranks = {gang.root_rank_of(from.source)},
                       .gang = left_call.gang,
                       .call = describe(from.last, *gang.info),
                       .location = location_of(from.last.call_site),
                       .note = fmt::format("taken {} times from any source", from.count)},
                      "source"});
  }
  return misses;
}

}  // namespace gang::sim
