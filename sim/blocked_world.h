// The wait-for graph of a run, with what its nodes stand for.
#pragma once

#include <unordered_map>
#include <vector>

#include "sim/engine.h"
#include "sim/gang_state.h"
#include "sim/wait_graph.h"

namespace gang::sim {

// What a node of the graph stands for: exactly one of the pointers is set, or neither for a rank.
struct WaitingThing {
  const Task* context = nullptr;                // a context that is blocked, or could go on
  const PendingOperation* operation = nullptr;  // a message, a batch, or one queued on a stream
  const MatchSlot* slot = nullptr;              // a collective that gathers its members
  const GangState* gang = nullptr;              // of the slot or operation
  int rank = -1;                                // a rank as such: whatever its contexts may do
};

// What is taken to be otherwise than it is, to see whether a deadlock depends on it.
enum class Assumption : std::uint8_t {
  none,
  sends_complete,  // a send lets its caller go on at once, as if buffered
  no_streams,      // nothing is queued behind another operation of its rank
};

// A snapshot of who waits for whom, taken under the engine's Guard; valid while nothing runs.
//
// Contexts wait for operations, operations for ranks, ranks for any of their contexts. A rank whose
// program has ended and that has no other context waits for any of nothing: nobody will act for it.
// Cost: O(blocked contexts + missing members).
class BlockedWorld {
 public:
  explicit BlockedWorld(const Engine& engine, Assumption assumption = Assumption::none);

  const WaitGraph& graph() const noexcept { return graph_; }
  const WaitingThing& thing(WaitGraph::Node node) const { return things_[node]; }

  // The node of a context that was not done when the snapshot was taken.
  WaitGraph::Node node_of(const Task& context) const { return contexts_.at(&context); }

  // Contexts that can never go on, by rank.
  const std::vector<const Task*>& dead_contexts() const noexcept { return dead_; }

  // Whether a dead context is part of a cause, or waits directly for a rank that is gone; others
  // only wait for those.
  bool is_core(const Task& context);

  // Whether no context of the rank is left.
  bool is_gone(int rank) const;

  // The causes: see WaitGraph::cores.
  const std::vector<std::vector<WaitGraph::Node>>& cores() const noexcept { return cores_; }

  // Whether the context can never go on, be it that it has ended.
  bool is_dead(const Task& context) const {
    const auto place = contexts_.find(&context);
    return place == contexts_.end() || graph_.is_dead(place->second);
  }

  // The first operation that `context` waits for, null if it waits for something else.
  static const PendingOperation* operation_of(const Task& context);

  // Root ranks that an operation waits for, ascending. Of a receive from any source: all members of
  // its gang, its own rank included.
  const std::vector<int>& awaited_by(const PendingOperation& pending);

  // Those of them without whom it can never go on since they are gone.
  const std::vector<int>& gone_for(const PendingOperation& pending);

  // Whether it is a receive from any source.
  static bool takes_any(const PendingOperation& pending) noexcept {
    return pending.call().kind == OperationKind::recv && pending.call().peer == any_rank;
  }

  // What keeps an operation from going on: itself, or the first of the stream that it is queued on.
  static const PendingOperation& held_up_by(const PendingOperation& pending) noexcept {
    return pending.status == PendingStatus::launched ? *pending.task->rank->stream->front()
                                                     : pending;
  }

 private:
  WaitGraph::Node add(WaitGraph::Mode mode, const WaitingThing& thing);
  void add_context(const Task& context);
  void connect_context(const Task& context);
  WaitGraph::Node rank_node(int rank);
  WaitGraph::Node any_member_node(const GangState& gang);
  WaitGraph::Node operation_node(const PendingOperation& pending);
  WaitGraph::Node slot_node(const PendingOperation& pending);
  bool is_met_by_queued_send(const PendingOperation& receive) const;
  const PendingOperation& ahead_of(const PendingOperation& pending) const noexcept;
  void connect_message(WaitGraph::Node node, const PendingOperation& pending);
  std::vector<int> find_awaited(const PendingOperation& pending);
  std::vector<int> find_gone(const PendingOperation& pending);

  const Engine& engine_;
  const Assumption assumption_;
  WaitGraph graph_;
  std::vector<WaitingThing> things_;
  std::vector<const Task*> live_;
  std::vector<const Task*> dead_;
  std::unordered_map<const Task*, WaitGraph::Node> contexts_;
  std::unordered_map<int, std::vector<const Task*>> contexts_of_rank_;
  std::unordered_map<int, WaitGraph::Node> ranks_;
  std::unordered_map<const void*, WaitGraph::Node> operations_;  // by slot, gang or operation
  // By slot, by gang for receives from any source, else by operation.
  std::unordered_map<const void*, std::vector<int>> awaited_;
  std::unordered_map<const void*, std::vector<int>> gone_;
  std::vector<std::vector<WaitGraph::Node>> cores_;
  std::vector<bool> is_in_core_;  // by node
};

}  // namespace gang::sim
