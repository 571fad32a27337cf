#include "sim/injection/link_faults.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/injection/corruption.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// How long TCP waits for an overtaken message.
constexpr Duration reordering_delay = std::chrono::milliseconds(1);

}  // namespace

LinkFaults::LinkFaults(World& world, FaultRecord& record)
    : world_(world),
      record_(record),
      is_healed_(static_cast<std::size_t>(world.options.world_size)) {}

void LinkFaults::add(const ArmedFault& armed) {
  ArmedFault& link = links_.emplace_back(armed);
  const Fault& fault = *link.fault;
  if (fault.lasts)
    link.ends = deadline_after(fault.trigger.time ? fault.trigger.time->least : TimePoint{0},
                               fault.lasts->least);
  // If messages cross slow links, the messages themselves are slow.
  slows_collectives_ = world_.options.backend == SimulatedBackend::sim;
}

void LinkFaults::heal(int rank) { is_healed_[static_cast<std::size_t>(rank)] = true; }

void LinkFaults::copy_late(PendingOperation& pending, const CallFaults& faults) {
  if (faults.late == nullptr) return;
  const TimePoint read_at = deadline_after(world_.engine.now(), faults.late->fault->delay->least);
  pending.make_extras().faults.read_at = read_at;
  last_late_copy_ = std::max(last_late_copy_, read_at);
  record_.schedule(read_at, FaultAct::release, *faults.late);
}

void LinkFaults::send_late(const Task& task, const CallFaults& faults) {
  if (faults.late == nullptr) return;
  const TimePoint until = deadline_after(world_.engine.now(), faults.late->fault->delay->least);
  TimePoint& known = sends_late_until_[task.rank->rank];
  known = std::max(known, until);
  record_.schedule(until, FaultAct::release, *faults.late);
}

void LinkFaults::cross_slow_links(Task& task, const GangState& gang, const Operation& operation) {
  if (!slows_collectives_) return;
  if (is_point_to_point(operation.collective.kind)) return;  // handled by fate_of
  for (ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::slow_link || link.rank != task.rank->rank) continue;
    if (!is_active(link) || !cuts(link, gang)) continue;
    record_.fire(link, fmt::format("the links of rank {} were slow from {} on {}", link.rank,
                                   to_string(operation.collective), gang.label()));
    sleep_in(world_.engine, link.fault->delay->least);
  }
}

bool LinkFaults::is_active(const ArmedFault& link) const {
  const auto& begins = link.fault->trigger.time;
  return (!begins || world_.engine.now() >= begins->least) && world_.engine.now() < link.ends;
}

bool LinkFaults::crosses(const ArmedFault& link, int from, int to) const {
  if (is_healed_[static_cast<std::size_t>(from)] || is_healed_[static_cast<std::size_t>(to)])
    return false;
  const auto is_far_end = [&link](int rank) {
    return std::ranges::binary_search(link.fault->to, rank);
  };
  return (from == link.rank && is_far_end(to)) ||
         (!link.fault->one_way && to == link.rank && is_far_end(from));
}

// Whether a member's contribution may not be read yet.
bool LinkFaults::copies_late(const PendingOperation* member) const {
  return member != nullptr && member->faults().read_at > world_.engine.now();
}

// Whether `gang` has members at both ends.
bool LinkFaults::cuts(const ArmedFault& link, const GangState& gang) const {
  const auto& ranks = gang.info->root_ranks;
  if (std::ranges::find(ranks, link.rank) == ranks.end()) return false;
  return std::ranges::any_of(ranks, [&](int other) { return crosses(link, link.rank, other); });
}

bool LinkFaults::holds(const GangState& gang) {
  if (world_.engine.now() < last_late_copy_ &&
      std::ranges::any_of(gang.active.front()->members,
                          [this](const auto* member) { return copies_late(member); }))
    return true;
  for (ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::partition || !is_active(link) || !cuts(link, gang)) continue;
    if (!link.has_fired && link.ends != TimePoint::max())
      record_.schedule(link.ends, FaultAct::release, link);
    record_.fire(link, fmt::format("rank {} was cut off from {} in {}", link.rank,
                                   link.fault->to.size() == 1
                                       ? fmt::format("rank {}", link.fault->to.front())
                                       : "ranks " + to_rank_ranges(link.fault->to, 4),
                                   gang.label()));
    return true;
  }
  return false;
}

std::vector<int> LinkFaults::cut_off(const GangState& gang) const {
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

std::vector<int> LinkFaults::unreachable(const GangState& gang,
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

LinkFate LinkFaults::fate_of(const PendingOperation& send) {
  return fate_of({.from = send.gang->root_rank_of(send.member),
                  .to = send.gang->root_rank_of(send.call().peer),
                  .bytes = send.operation->input.size_bytes()},
                 send.call());
}

LinkFate LinkFaults::fate_of(const Crossing& crossing, const Collective& call) {
  const LinkFate fate = fate_on_links(crossing, call);
  const auto known = sends_late_until_.find(crossing.from);
  const TimePoint late = known == sends_late_until_.end() ? TimePoint{0} : known->second;
  const bool is_free = fate.kind == LinkFate::Kind::passes && fate.fault == nullptr;
  if (world_.engine.now() >= late || (!is_free && fate.kind != LinkFate::Kind::is_held))
    return fate;
  return {LinkFate::Kind::is_held, std::max(fate.until, late), fate.fault};
}

LinkFate LinkFaults::fate_on_links(const Crossing& crossing, const Collective& call) {
  for (ArmedFault& link : links_) {
    if (link.is_spent || !is_active(link) || !crosses(link, crossing.from, crossing.to)) continue;
    if (link.fault->kind == FaultKind::corrupt_message && crossing.bytes == 0) continue;
    const LinkFate fate = fate_on(link, crossing, call);
    if (fate.kind != LinkFate::Kind::passes || fate.fault != nullptr) return fate;
  }
  return {};
}

LinkFate LinkFaults::fate_on(ArmedFault& link, const Crossing& crossing, const Collective& call) {
  const FaultKind kind = link.fault->kind;
  if (kind != FaultKind::partition && kind != FaultKind::slow_link && !record_.is_picked(link))
    return {};
  link.is_spent = link.fault->trigger.message.has_value();
  const auto note = [&](std::string_view what) {
    record_.fire(link, fmt::format("{}{} from rank {} to rank {} {}",
                                   is_point_to_point(call.kind) ? "" : "a message of ",
                                   to_string(call), crossing.from, crossing.to, what));
  };
  switch (kind) {
    case FaultKind::partition:
      note("did not get through");
      if (link.ends != TimePoint::max()) record_.schedule(link.ends, FaultAct::release, link);
      return {LinkFate::Kind::is_held, link.ends, &link};
    case FaultKind::slow_link:
    case FaultKind::delay_message: {
      note("was delayed");
      const TimePoint until = deadline_after(world_.engine.now(), link.fault->delay->least);
      record_.schedule(until, FaultAct::release, link);
      return {LinkFate::Kind::is_held, until, &link};
    }
    case FaultKind::drop_message:
      note("was lost");
      return {LinkFate::Kind::is_lost, world_.engine.now(), &link};
    case FaultKind::duplicate_message:
      note("came twice");
      return {};
    case FaultKind::reorder_messages: {
      note("was overtaken");
      const TimePoint until = deadline_after(world_.engine.now(), reordering_delay);
      record_.schedule(until, FaultAct::release, link);
      return {LinkFate::Kind::is_held, until, &link};
    }
    case FaultKind::corrupt_message:
      note("was corrupted");
      return {LinkFate::Kind::passes, world_.engine.now(), &link};
    default:
      return {};
  }
}

void LinkFaults::corrupt_message(const Elements& payload, const ArmedFault& fault) {
  corrupt(payload, fault.fault->corruption, record_.stream());
}

}  // namespace gang::sim
