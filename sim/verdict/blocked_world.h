// The wait-for graph of a run, and what its nodes represent.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/state/gang_state.h"
#include "sim/verdict/wait_graph.h"

namespace gang::sim {

struct World;

// What a graph node represents: one of context, operation and slot is set; for a rank, none.
struct WaitNode {
  const Task* context = nullptr;                // a context, blocked or able to continue
  const PendingOperation* operation = nullptr;  // a message, a batch, or one queued on a stream
  const MatchSlot* slot = nullptr;              // a collective that is gathering its members
  const GangState* gang = nullptr;              // of the slot or operation
  int rank = -1;                                // a rank as such: whatever its contexts may do
};

// A hypothetical change of the world, to see whether a deadlock depends on it.
enum class Assumption : std::uint8_t {
  none,
  sends_complete,  // sends return at once, as if buffered
  no_streams,      // no operation is queued behind another one of its rank
  no_locks,        // no context waits for a mutex
};

// When a snapshot is taken.
enum class Moment : std::uint8_t {
  at_rest,           // no context can run: a poll cannot succeed by itself
  while_others_run,  // a polling context may do something else next
  naps_in_vain,      // at rest, but for contexts that sleep, look around and sleep again
};

// Whether it is a receive from any source.
inline bool takes_any(const PendingOperation& pending) noexcept {
  return pending.call().kind == OperationKind::recv && pending.call().peer == any_rank;
}

// Whether it waits for a mutex whose holder has ended without unlocking it.
bool waits_for_leaked_lock(const Task& context) noexcept;

// The operation that holds this one up: itself, or the head of the stream that it is queued on.
inline const PendingOperation& held_up_by(const PendingOperation& pending) noexcept {
  return pending.status == PendingStatus::launched ? *pending.task->rank->rare().stream->front()
                                                   : pending;
}

// A snapshot of all waits, taken under the engine's Guard; valid while nothing runs.
//
// Contexts wait for operations, operations for ranks, ranks for any of their contexts. A rank with
// no contexts left waits for any of an empty set: it can never act again.
// Cost: O(blocked contexts + missing members).
class BlockedWorld {
 public:
  explicit BlockedWorld(const World& world, Moment moment = Moment::at_rest,
                        Assumption assumption = Assumption::none);

  Moment moment() const noexcept { return moment_; }

  const WaitGraph& graph() const noexcept { return graph_; }
  const WaitNode& thing(WaitGraph::Node node) const { return things_[node]; }

  // The node of a context that was not done when the snapshot was taken.
  WaitGraph::Node node_of(const Task& context) const { return contexts_[context.id]; }

  // Contexts that can never continue, by rank; while others run, also those that have polled a
  // thousand times, in vain, for something that can never complete.
  const std::vector<const Task*>& dead_contexts() const noexcept { return dead_; }

  // Whether a dead context is part of a cause or waits directly for a rank that is gone; all other
  // dead contexts only wait for these.
  bool is_core(const Task& context);

  // Whether the rank has no contexts left.
  bool is_gone(int rank) const;

  // The causes: see WaitGraph::cores.
  const std::vector<std::vector<WaitGraph::Node>>& cores() const noexcept { return cores_; }

  // Whether the context can never continue; true if it has ended.
  bool is_dead(const Task& context) const {
    const bool has_ended = context.id >= contexts_.size() || contexts_[context.id] == no_node;
    return has_ended || graph_.is_dead(contexts_[context.id]);
  }

  // Whether anything waits for what only a send's receiver can do. If nothing does, the graph is
  // the same under the assumption that sends complete.
  bool waits_for_sends() const noexcept { return waits_for_sends_; }

  // Root ranks with a context that is not dead, ascending.
  std::vector<int> ranks_that_go_on() const;

  // The operations that `context` waits for, ended or not; if it runs or sleeps, those it keeps
  // polling.
  static std::span<PendingOperation* const> operations_of(const Task& context) noexcept;

  // The first operation that `context` waits for, null if it waits for something else.
  static const PendingOperation* operation_of(const Task& context);

  // Root ranks that an operation waits for, ascending. For a receive from any source: all members
  // of its gang, including its own rank.
  const std::vector<int>& awaited_by(const PendingOperation& pending);

  // Those of them that are gone and that it cannot continue without.
  const std::vector<int>& gone_for(const PendingOperation& pending);

 private:
  static constexpr WaitGraph::Node no_node = ~WaitGraph::Node{0};

  std::span<const Task* const> contexts_of(int rank) const;
  WaitGraph::Node add(WaitGraph::Mode mode, const WaitNode& thing);
  void connect_context(const Task& context);
  bool is_alive(const Task& context) const noexcept;
  WaitGraph::Mode mode_of(const Task& context) const noexcept;
  bool polls_in_vain(const Task& context) const;
  WaitGraph::Node rank_node(int rank);
  WaitGraph::Node any_member_node(const GangState& gang);
  WaitGraph::Node operation_node(const PendingOperation& pending);
  WaitGraph::Node slot_node(const PendingOperation& pending);
  bool is_met_by_queued_send(const PendingOperation& receive) const;
  const PendingOperation& ahead_of(const PendingOperation& pending) const noexcept;
  void connect_message(WaitGraph::Node node, const PendingOperation& pending);
  std::vector<int> find_awaited(const PendingOperation& pending);
  std::vector<int> find_gone(const PendingOperation& pending);

  const World& world_;
  const Moment moment_;
  const Assumption assumption_;
  WaitGraph graph_;
  std::vector<WaitNode> things_;
  std::vector<const Task*> live_;
  std::vector<const Task*> dead_;
  std::vector<WaitGraph::Node> contexts_;  // by id; no_node: has ended
  std::vector<std::size_t>
      first_of_rank_;                   // by rank, and one more: where in live_ its contexts begin
  std::vector<WaitGraph::Node> ranks_;  // by rank; no_node: not needed yet
  std::unordered_map<const void*, WaitGraph::Node> operations_;  // by slot, gang or operation
  // By slot, by gang for receives from any source, else by operation.
  std::unordered_map<const void*, std::vector<int>> awaited_;
  std::unordered_map<const void*, std::vector<int>> gone_;
  std::vector<std::vector<WaitGraph::Node>> cores_;
  std::vector<bool> is_in_core_;  // by node
  bool waits_for_sends_ = false;
};

}  // namespace gang::sim
