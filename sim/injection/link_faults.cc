// The part of the injector that is about links.
#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/injection/fault_injector.h"
#include "sim/matching/matching.h"

namespace gang::sim {
namespace {

// How long TCP waits for what was overtaken.
constexpr Duration reordering_delay = std::chrono::milliseconds(1);

TimePoint later(TimePoint time, Duration by) {
  return by >= TimePoint::max() - time ? TimePoint::max() : time + by;
}

}  // namespace

bool FaultInjector::is_active(const ArmedFault& link) const {
  const auto& begins = link.fault->trigger.time;
  return (!begins || engine_.now() >= begins->least) && engine_.now() < link.ends;
}

bool FaultInjector::crosses(const ArmedFault& link, int from, int to) const {
  if (is_healed_[static_cast<std::size_t>(from)] || is_healed_[static_cast<std::size_t>(to)])
    return false;
  const auto is_far_end = [&link](int rank) {
    return std::ranges::binary_search(link.fault->to, rank);
  };
  return (from == link.rank && is_far_end(to)) ||
         (!link.fault->one_way && to == link.rank && is_far_end(from));
}

// Whether what a member has come with may not be read yet.
bool FaultInjector::copies_late(const PendingOperation* member) const {
  return member != nullptr && member->read_at > engine_.now();
}

// Whether members of `gang` are at both ends.
bool FaultInjector::cuts(const ArmedFault& link, const GangState& gang) const {
  const auto& ranks = gang.info->root_ranks;
  if (std::ranges::find(ranks, link.rank) == ranks.end()) return false;
  return std::ranges::any_of(ranks, [&](int other) { return crosses(link, link.rank, other); });
}

bool FaultInjector::holds(const GangState& gang) {
  if (engine_.now() < last_late_copy_ &&
      std::ranges::any_of(gang.active.front()->members,
                          [this](const auto* member) { return copies_late(member); }))
    return true;
  for (ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::partition || !is_active(link) || !cuts(link, gang)) continue;
    if (!link.has_fired && link.ends != TimePoint::max()) schedule(link.ends, Act::release, link);
    fire(link,
         fmt::format("rank {} was cut off from {} in {}", link.rank,
                     link.fault->to.size() == 1 ? fmt::format("rank {}", link.fault->to.front())
                                                : "ranks " + to_rank_ranges(link.fault->to, 4),
                     gang.label()));
    return true;
  }
  return false;
}

std::vector<int> FaultInjector::cut_off(const GangState& gang) const {
  std::vector<int> members;
  const auto& ranks = gang.info->root_ranks;
  for (const ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::partition || !is_active(link) || !cuts(link, gang)) continue;
    members.push_back(static_cast<int>(std::ranges::find(ranks, link.rank) - ranks.begin()));
  }
  if (!gang.active.empty())
    for (const PendingOperation* member : gang.active.front()->members)
      if (copies_late(member)) members.push_back(member->member);
  std::ranges::sort(members);
  const auto [first, last] = std::ranges::unique(members);
  members.erase(first, last);
  return members;
}

std::vector<int> FaultInjector::unreachable(const GangState& gang,
                                            std::span<Task* const> present) const {
  std::vector<int> left_out;
  const auto is_there = [&](std::size_t member) {
    return present[member] != nullptr &&
           std::ranges::find(left_out, static_cast<int>(member)) == left_out.end();
  };
  const auto& ranks = gang.info->root_ranks;
  for (const ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::partition || !is_active(link)) continue;
    const auto source =
        static_cast<std::size_t>(std::ranges::find(ranks, link.rank) - ranks.begin());
    if (source == ranks.size() || !is_there(source)) continue;
    for (std::size_t member = 0; member < ranks.size(); ++member) {
      if (!is_there(member) || !crosses(link, link.rank, ranks[member])) continue;
      left_out.push_back(static_cast<int>(source));
      break;
    }
  }
  return left_out;
}

LinkFate FaultInjector::fate_of(const PendingOperation& send) {
  return fate_of({.from = send.gang->root_rank_of(send.member),
                  .to = send.gang->root_rank_of(send.call().peer),
                  .bytes = send.operation->input.size_bytes()},
                 send.call());
}

LinkFate FaultInjector::fate_of(const Crossing& crossing, const Collective& call) {
  const LinkFate fate = fate_on_links(crossing, call);
  const RankFaults* own = of(crossing.from);
  const TimePoint late = own != nullptr ? own->sends_late_until : TimePoint{0};
  const bool is_free = fate.kind == LinkFate::Kind::passes && fate.fault == nullptr;
  if (engine_.now() >= late || (!is_free && fate.kind != LinkFate::Kind::is_held)) return fate;
  return {LinkFate::Kind::is_held, std::max(fate.until, late), fate.fault};
}

LinkFate FaultInjector::fate_on_links(const Crossing& crossing, const Collective& call) {
  for (ArmedFault& link : links_) {
    if (link.is_spent || !is_active(link) || !crosses(link, crossing.from, crossing.to)) continue;
    if (link.fault->kind == FaultKind::corrupt_message && crossing.bytes == 0) continue;
    const LinkFate fate = fate_on(link, crossing, call);
    if (fate.kind != LinkFate::Kind::passes || fate.fault != nullptr) return fate;
  }
  return {};
}

LinkFate FaultInjector::fate_on(ArmedFault& link, const Crossing& crossing,
                                const Collective& call) {
  const FaultKind kind = link.fault->kind;
  if (kind != FaultKind::partition && kind != FaultKind::slow_link && !is_picked(link)) return {};
  link.is_spent = link.fault->trigger.message.has_value();
  const auto note = [&](std::string_view what) {
    fire(link, fmt::format("{}{} from rank {} to rank {} {}",
                           is_point_to_point(call.kind) ? "" : "a message of ", to_string(call),
                           crossing.from, crossing.to, what));
  };
  switch (kind) {
    case FaultKind::partition:
      note("did not get through");
      if (link.ends != TimePoint::max()) schedule(link.ends, Act::release, link);
      return {LinkFate::Kind::is_held, link.ends, &link};
    case FaultKind::slow_link:
    case FaultKind::delay_message: {
      note("was delayed");
      const TimePoint until = later(engine_.now(), link.fault->delay->least);
      schedule(until, Act::release, link);
      return {LinkFate::Kind::is_held, until, &link};
    }
    case FaultKind::drop_message:
      note("was lost");
      return {LinkFate::Kind::is_lost, engine_.now(), &link};
    case FaultKind::duplicate_message:
      note("came twice");
      return {};
    case FaultKind::reorder_messages: {
      note("was overtaken");
      const TimePoint until = later(engine_.now(), reordering_delay);
      schedule(until, Act::release, link);
      return {LinkFate::Kind::is_held, until, &link};
    }
    case FaultKind::corrupt_message:
      note("was corrupted");
      return {LinkFate::Kind::passes, engine_.now(), &link};
    default:
      return {};
  }
}

void FaultInjector::corrupt_message(const TensorView& payload, const ArmedFault& fault) {
  corrupt(payload, fault.fault->corruption, stream_);
}

std::vector<PendingOperation*> FaultInjector::untold(std::span<PendingOperation* const> members) {
  const auto is_dead = [this](const PendingOperation* member) {
    return std::ranges::any_of(died_inside_, [member](const ArmedFault* dead) {
      return dead->rank == member->task->rank->rank;
    });
  };
  if (std::ranges::none_of(members, is_dead) || stream_.below(2) == 0) return {};
  std::vector<PendingOperation*> untold;
  for (PendingOperation* member : members)
    if (!is_dead(member) && stream_.below(2) == 0) untold.push_back(member);
  return untold;
}

void FaultInjector::break_for_dead(GangState& gang, std::span<PendingOperation* const> members) {
  for (const ArmedFault* dead : died_inside_)
    for (const PendingOperation* member : members)
      if (dead->rank == member->task->rank->rank) return break_for(gang, *dead);
}

}  // namespace gang::sim
