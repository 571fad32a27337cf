#include "sim/verdict/blocked_world.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "sim/matching/matching.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

using Mode = WaitGraph::Mode;

// Failed polls in a row that count as a polling loop.
constexpr std::uint64_t many_polls = 1000;

// The slot where the members of a collective gather; null if none has arrived, or for other calls.
const MatchSlot* slot_of(const PendingOperation& pending) noexcept {
  if (pending.slot != nullptr || is_point_to_point(pending.call().kind)) return pending.slot;
  const GangState& gang = *pending.gang;
  const std::uint64_t index = pending.call().sequence_number - gang.base_sequence;
  return index < gang.active.size() ? gang.active[index] : nullptr;
}

// Whether two calls of one gang are sides of one operation.
bool are_partners(const PendingOperation& pending, const PendingOperation& queued) noexcept {
  const Collective& one = pending.call();
  const Collective& other = queued.call();
  if (pending.gang != queued.gang) return false;
  if (!is_point_to_point(one.kind))
    return !is_point_to_point(other.kind) && one.sequence_number == other.sequence_number;
  const bool is_send = one.kind == OperationKind::send;
  if (other.kind != (is_send ? OperationKind::recv : OperationKind::send)) return false;
  const Collective& receive = is_send ? other : one;
  const Collective& send = is_send ? one : other;
  const int source = is_send ? pending.member : queued.member;
  const int destination = is_send ? queued.member : pending.member;
  return send.peer == destination && (receive.peer == any_rank || receive.peer == source) &&
         (receive.tag == any_tag || receive.tag == send.tag);
}

// Whether `rank` has its side of `pending` on its stream, queued or not.
bool has_queued_partner(const World& world, const PendingOperation& pending, int rank) {
  const auto& stream = world.rank(rank).rare().stream;
  return stream && std::ranges::any_of(*stream, [&pending](const PendingOperation* queued) {
           return !queued->has_ended() && are_partners(pending, *queued);
         });
}

const void* key_of(const PendingOperation& pending) noexcept {
  if (pending.slot != nullptr) return pending.slot;
  if (takes_any(pending)) return pending.gang;
  return &pending;
}

// A heartbeat says nothing about why its rank's other contexts are stuck, unless they wait for it.
std::vector<const Task*> without_idle(const std::vector<const Task*>& live,
                                      const std::function<bool(const Task&)>& is_alive) {
  std::set<const Task*> awaited;
  for (const Task* context : live)
    if (context->wait != nullptr) awaited.insert(context->wait->context());
  const auto is_idle = [&](const Task* context) {
    return !is_alive(*context) && !awaited.contains(context) &&
           BlockedWorld::operation_of(*context) == nullptr &&
           (context->wait->reason == Wait::Reason::sleep ||
            context->wait->reason == Wait::Reason::poll);
  };
  std::vector<const Task*> kept;
  for (auto first = live.begin(); first != live.end();) {
    const auto last = std::find_if(first, live.end(), [first](const Task* context) {
      return context->rank != (*first)->rank;
    });
    const bool are_all = std::all_of(first, last, is_idle);
    std::copy_if(first, last, std::back_inserter(kept),
                 [&](const Task* context) { return are_all || !is_idle(context); });
    first = last;
  }
  return kept;
}

}  // namespace

bool waits_for_leaked_lock(const Task& context) noexcept {
  return context.wait != nullptr && context.wait->reason == Wait::Reason::mutex &&
         context.wait->context()->is_done;
}

BlockedWorld::BlockedWorld(const World& world, Moment moment, Assumption assumption)
    : world_(world),
      moment_(moment),
      assumption_(assumption),
      live_(world.engine.contexts().live()) {
  live_ = without_idle(live_, [this](const Task& context) { return is_alive(context); });
  const auto ranks = static_cast<std::size_t>(world.options.world_size);
  ranks_.assign(ranks, no_node);
  first_of_rank_.assign(ranks + 1, 0);
  for (const Task* context : live_)
    ++first_of_rank_[static_cast<std::size_t>(context->rank->rank) + 1];
  std::partial_sum(first_of_rank_.begin(), first_of_rank_.end(), first_of_rank_.begin());
  for (const Task* context : live_) {
    if (context->id >= contexts_.size()) contexts_.resize(context->id + 1, no_node);
    contexts_[context->id] = add(mode_of(*context), {.context = context});
  }
  for (const Task* context : live_) connect_context(*context);
  graph_.reduce();
  for (const Task* context : live_)
    if (graph_.is_dead(node_of(*context)) || polls_in_vain(*context)) dead_.push_back(context);
  cores_ = graph_.cores();
  is_in_core_.assign(graph_.node_count(), false);
  for (const auto& core : cores_)
    for (const WaitGraph::Node node : core) is_in_core_[node] = true;
}

// Whether the context can act on its own: it runs, sleeps, or polls.
bool BlockedWorld::is_alive(const Task& context) const noexcept {
  if (context.wait == nullptr || context.wait->reason == Wait::Reason::outside) return true;
  if (context.wait->reason == Wait::Reason::mutex) return assumption_ == Assumption::no_locks;
  if (context.wait->reason == Wait::Reason::sleep) return moment_ != Moment::naps_in_vain;
  return moment_ == Moment::while_others_run && context.wait->reason == Wait::Reason::poll;
}

Mode BlockedWorld::mode_of(const Task& context) const noexcept {
  if (is_alive(context)) return Mode::all;
  const Wait::Reason reason = context.wait->reason;
  if (reason == Wait::Reason::message && !context.wait->message()->takes_any()) return Mode::all;
  const bool takes_any = reason != Wait::Reason::operation && reason != Wait::Reason::join &&
                         (reason != Wait::Reason::mutex || waits_for_leaked_lock(context));
  return takes_any ? Mode::any : Mode::all;
}

bool BlockedWorld::polls_in_vain(const Task& context) const {
  if (moment_ != Moment::while_others_run || !is_alive(context)) return false;
  if (context.rare().polls < many_polls) return false;
  const PendingOperation* polled = operation_of(context);
  if (polled == nullptr) return false;
  const auto node =
      operations_.find(polled->slot != nullptr ? static_cast<const void*>(polled->slot) : polled);
  return node != operations_.end() && graph_.is_dead(node->second);
}

std::vector<int> BlockedWorld::ranks_that_go_on() const {
  std::vector<int> ranks;
  auto dead = dead_.begin();
  for (const Task* context : live_) {
    if (dead != dead_.end() && *dead == context)
      ++dead;
    else if (ranks.empty() || ranks.back() != context->rank->rank)
      ranks.push_back(context->rank->rank);
  }
  return ranks;
}

bool BlockedWorld::is_core(const Task& context) {
  if (is_in_core_[node_of(context)]) return true;
  const PendingOperation* pending = operation_of(context);
  return pending != nullptr && !gone_for(*pending).empty();
}

WaitGraph::Node BlockedWorld::add(Mode mode, const WaitNode& thing) {
  things_.push_back(thing);
  return graph_.add_node(mode);
}

std::span<const Task* const> BlockedWorld::contexts_of(int rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return std::span(live_).subspan(first_of_rank_[place],
                                  first_of_rank_[place + 1] - first_of_rank_[place]);
}

bool BlockedWorld::is_gone(int rank) const { return contexts_of(rank).empty(); }

void BlockedWorld::connect_context(const Task& context) {
  if (is_alive(context)) {
    if (context.rare().polls < many_polls || moment_ == Moment::at_rest) return;
    if (const PendingOperation* polled = operation_of(context)) operation_node(*polled);
    return;
  }
  const WaitGraph::Node node = node_of(context);
  for (const PendingOperation* pending : context.wait->reason == Wait::Reason::sleep
                                             ? operations_of(context)
                                             : context.wait->operations())
    if (!Matching::has_ended(*pending)) graph_.add_edge(node, operation_node(*pending));
  // No context ends its own wait.
  const auto connect_to_others_of_rank = [&] {
    for (const Task* other : contexts_of(context.rank->rank))
      if (other != &context) graph_.add_edge(node, node_of(*other));
  };
  switch (context.wait->reason) {
    case Wait::Reason::join:
      return graph_.add_edge(node, node_of(*context.wait->context()));
    case Wait::Reason::mutex:
      if (!waits_for_leaked_lock(context)) graph_.add_edge(node, node_of(*context.wait->context()));
      return;
    case Wait::Reason::condition:
      return connect_to_others_of_rank();
    case Wait::Reason::message:
      for (const int rank : context.wait->message()->awaited_ranks())
        if (rank == context.rank->rank && context.wait->message()->takes_any())
          connect_to_others_of_rank();
        else
          graph_.add_edge(node, rank_node(rank));
      return;
    default:
      return;
  }
}

WaitGraph::Node BlockedWorld::rank_node(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (ranks_[place] != no_node) return ranks_[place];
  const WaitGraph::Node node = add(Mode::any, {.rank = rank});
  ranks_[place] = node;
  for (const Task* context : contexts_of(rank)) graph_.add_edge(node, node_of(*context));
  return node;
}

WaitGraph::Node BlockedWorld::any_member_node(const GangState& gang) {
  if (const auto known = operations_.find(&gang); known != operations_.end()) return known->second;
  const WaitGraph::Node node = add(Mode::any, {.gang = &gang});
  operations_.emplace(&gang, node);
  for (const int rank : gang.info->root_ranks) graph_.add_edge(node, rank_node(rank));
  return node;
}

WaitGraph::Node BlockedWorld::operation_node(const PendingOperation& pending) {
  if (pending.slot != nullptr) return slot_node(pending);
  if (const auto known = operations_.find(&pending); known != operations_.end())
    return known->second;
  const WaitGraph::Node node = add(Mode::all, {.operation = &pending, .gang = pending.gang});
  operations_.emplace(&pending, node);
  connect_message(node, pending);
  return node;
}

WaitGraph::Node BlockedWorld::slot_node(const PendingOperation& pending) {
  if (const auto known = operations_.find(pending.slot); known != operations_.end())
    return known->second;
  const WaitGraph::Node node = add(Mode::all, {.slot = pending.slot, .gang = pending.gang});
  operations_.emplace(pending.slot, node);
  for (const int rank : awaited_by(pending)) graph_.add_edge(node, rank_node(rank));
  return node;
}

void BlockedWorld::connect_message(WaitGraph::Node node, const PendingOperation& pending) {
  if (pending.status == PendingStatus::mismatched) return;  // about to fail
  const PendingOperation& ahead = ahead_of(pending);
  const bool is_behind = &ahead != &pending;
  if (!is_behind && pending.call().kind == OperationKind::send) waits_for_sends_ = true;
  if (is_behind) {
    if (!Matching::has_ended(ahead)) graph_.add_edge(node, operation_node(ahead));
  } else if (assumption_ == Assumption::sends_complete &&
             pending.call().kind == OperationKind::send) {
    return;
  } else if (pending.entries()) {
    for (const PendingOperation& entry : pending.entries()->pendings)
      if (!entry.has_ended()) graph_.add_edge(node, operation_node(entry));
  } else if (takes_any(pending)) {
    if (!is_met_by_queued_send(pending)) graph_.add_edge(node, any_member_node(*pending.gang));
  } else {
    for (const int rank : awaited_by(pending)) graph_.add_edge(node, rank_node(rank));
  }
}

std::span<PendingOperation* const> BlockedWorld::operations_of(const Task& context) noexcept {
  if (context.wait != nullptr && !context.wait->operations().empty())
    return context.wait->operations();
  const bool is_blocked = context.wait != nullptr && context.wait->reason != Wait::Reason::sleep &&
                          context.wait->reason != Wait::Reason::poll;
  const RareTaskState& rare = context.rare();
  if (is_blocked || rare.polled == nullptr || rare.polls < many_polls) return {};
  return {&rare.polled, 1};
}

const PendingOperation* BlockedWorld::operation_of(const Task& context) {
  for (const PendingOperation* pending : operations_of(context))
    if (!Matching::has_ended(*pending)) return pending;
  return nullptr;
}

const PendingOperation& BlockedWorld::ahead_of(const PendingOperation& pending) const noexcept {
  return assumption_ == Assumption::no_streams ? pending : held_up_by(pending);
}

bool BlockedWorld::is_met_by_queued_send(const PendingOperation& receive) const {
  return assumption_ == Assumption::no_streams &&
         std::ranges::any_of(receive.gang->info->root_ranks,
                             [&](int rank) { return has_queued_partner(world_, receive, rank); });
}

const std::vector<int>& BlockedWorld::awaited_by(const PendingOperation& posted) {
  const PendingOperation& pending = ahead_of(posted);
  const auto known = awaited_.find(key_of(pending));
  if (known != awaited_.end()) return known->second;
  std::vector<int> ranks = find_awaited(pending);
  if (assumption_ == Assumption::no_streams)
    std::erase_if(ranks, [&](int rank) { return has_queued_partner(world_, pending, rank); });
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return awaited_.emplace(key_of(pending), std::move(ranks)).first->second;
}

std::vector<int> BlockedWorld::find_awaited(const PendingOperation& pending) {
  const GangState& gang = *pending.gang;
  std::vector<int> ranks;
  if (const MatchSlot* slot = slot_of(pending)) {
    for (const int member : missing_members(*slot)) ranks.push_back(gang.root_rank_of(member));
  } else if (!is_point_to_point(pending.call().kind)) {
    ranks = gang.info->root_ranks;  // queued, and nobody has come to it yet
  } else if (pending.entries()) {
    for (const PendingOperation& entry : pending.entries()->pendings) {
      if (entry.has_ended()) continue;
      const std::vector<int>& awaited = awaited_by(entry);
      ranks.insert(ranks.end(), awaited.begin(), awaited.end());
    }
  } else if (takes_any(pending)) {
    ranks = gang.info->root_ranks;
  } else {
    ranks.push_back(gang.root_rank_of(pending.call().peer));
  }
  return ranks;
}

const std::vector<int>& BlockedWorld::gone_for(const PendingOperation& posted) {
  const PendingOperation& pending = ahead_of(posted);
  const auto known = gone_.find(key_of(pending));
  if (known != gone_.end()) return known->second;
  return gone_.emplace(key_of(pending), find_gone(pending)).first->second;
}

std::vector<int> BlockedWorld::find_gone(const PendingOperation& pending) {
  std::vector<int> gone;
  for (const int rank : awaited_by(pending))
    if (is_gone(rank)) gone.push_back(rank);
  // A receive from any source needs only one of the others.
  const bool has_choice =
      takes_any(pending) && gone.size() + 1 < static_cast<std::size_t>(pending.gang->size());
  return has_choice ? std::vector<int>{} : gone;
}

}  // namespace gang::sim
