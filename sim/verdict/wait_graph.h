// Which node waits for which, with AND and OR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gang::sim {

// A wait-for graph: a value without knowledge of ranks or gangs. A node that waits for `all` is
// released when every node that it waits for is; one that waits for `any`, when one is. A node
// without successors is released if it waits for all of nothing, and never if it waits for any of
// nothing. Source: Hilbrich et al., "MPI Runtime Error Detection with MUST", 2012 (AND/OR wait-for
// graphs).
class WaitGraph {
 public:
  using Node = std::uint32_t;
  enum class Mode : std::uint8_t { all, any };

  Node add_node(Mode mode);
  void add_edge(Node from, Node to);
  std::size_t node_count() const noexcept { return modes_.size(); }
  const std::vector<Node>& successors(Node node) const { return successors_[node]; }

  // Releases nodes until no more can be released. O(nodes + edges).
  void reduce();

  // After reduce: whether the node can never be released.
  bool is_dead(Node node) const { return is_dead_[node]; }

  // After reduce: the sets of dead nodes that wait for each other, or for nothing, and for no other
  // dead node: the causes. Everything else that is dead only waits for those. Each set ascending,
  // the sets by their first node. O(nodes + edges).
  std::vector<std::vector<Node>> cores() const;

  // A shortest way from `start` back to itself through dead nodes, without the repeated end; empty
  // if there is none. O(nodes + edges).
  std::vector<Node> cycle_through(Node start) const;

 private:
  std::vector<std::vector<Node>> components() const;

  std::vector<Mode> modes_;
  std::vector<std::vector<Node>> successors_;
  std::vector<bool> is_dead_;
};

}  // namespace gang::sim
