// The wait-for graph of a run, with what its nodes stand for.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/state/gang_state.h"
#include "sim/verdict/wait_graph.h"

namespace gang::sim {

struct World;

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

// When a snapshot is taken.
enum class Moment : std::uint8_t {
  at_rest,           // nobody can run: a poll will not succeed by itself
  while_others_run,  // whoever polls may do something else next
};

// Whether it is a receive from any source.
inline bool takes_any(const PendingOperation& pending) noexcept {
  return pending.call().kind == OperationKind::recv && pending.call().peer == any_rank;
}

// What keeps an operation from continuing: itself, or the first of the stream that it is queued on.
inline const PendingOperation& held_up_by(const PendingOperation& pending) noexcept {
  return pending.status == PendingStatus::launched ? *pending.task->rank->stream->front() : pending;
}

// A snapshot of who waits for whom, taken under the engine's Guard; valid while nothing runs.
//
// Contexts wait for operations, operations for ranks, ranks for any of their contexts. A rank whose
// program has ended and that has no other context waits for any of nothing: nobody will act for it.
// Cost: O(blocked contexts + missing members).
class BlockedWorld {
 public:
  explicit BlockedWorld(const World& world, Moment moment = Moment::at_rest,
                        Assumption assumption = Assumption::none);

  Moment moment() const noexcept { return moment_; }

  const WaitGraph& graph() const noexcept { return graph_; }
  const WaitingThing& thing(WaitGraph::Node node) const { return things_[node]; }

  // The node of a context that was not done when the snapshot was taken.
  WaitGraph::Node node_of(const Task& context) const { return contexts_[context.id]; }

  // Contexts that can never go on, by rank; and, while others run, those that have polled in vain a
  // thousand times for what can never complete.
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
    const bool has_ended = context.id >= contexts_.size() || contexts_[context.id] == no_node;
    return has_ended || graph_.is_dead(contexts_[context.id]);
  }

  // Root ranks with a context that is not dead, ascending.
  std::vector<int> ranks_that_go_on() const;

  // The operations that `context` waits for, ended or not; of one that runs or sleeps, what it
  // keeps polling.
  static std::span<PendingOperation* const> operations_of(const Task& context) noexcept;

  // The first operation that `context` waits for, null if it waits for something else.
  static const PendingOperation* operation_of(const Task& context);

  // Root ranks that an operation waits for, ascending. Of a receive from any source: all members of
  // its gang, its own rank included.
  const std::vector<int>& awaited_by(const PendingOperation& pending);

  // Those of them without whom it can never go on since they are gone.
  const std::vector<int>& gone_for(const PendingOperation& pending);

 private:
  static constexpr WaitGraph::Node no_node = ~WaitGraph::Node{0};

  std::span<const Task* const> contexts_of(int rank) const;
  WaitGraph::Node add(WaitGraph::Mode mode, const WaitingThing& thing);
  void add_context(const Task& context);
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
  std::vector<WaitingThing> things_;
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
};

}  // namespace gang::sim
