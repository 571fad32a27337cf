#include "sim/verdict/wait_graph.h"

#include <algorithm>
#include <deque>

namespace gang::sim {
namespace {

constexpr WaitGraph::Node no_node = ~WaitGraph::Node{0};

// Tarjan's strongly connected components over the dead nodes, without recursion.
// Source: R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
class Components {
 public:
  Components(const WaitGraph& graph)
      : graph_(graph),
        order_(graph.node_count(), 0),
        low_(graph.node_count(), 0),
        is_open_(graph.node_count(), false) {}

  std::vector<std::vector<WaitGraph::Node>> find() {
    for (WaitGraph::Node node = 0; node < order_.size(); ++node)
      if (graph_.is_dead(node) && order_[node] == 0) explore(node);
    return std::move(components_);
  }

 private:
  struct Visit {
    WaitGraph::Node node;
    std::size_t next_successor = 0;
  };

  void enter(WaitGraph::Node node) {
    order_[node] = low_[node] = ++clock_;
    open_.push_back(node);
    is_open_[node] = true;
    visits_.push_back({node});
  }

  void explore(WaitGraph::Node start) {
    enter(start);
    while (!visits_.empty()) {
      const WaitGraph::Node node = visits_.back().node;
      const auto& successors = graph_.successors(node);
      if (visits_.back().next_successor < successors.size()) {
        const WaitGraph::Node next = successors[visits_.back().next_successor++];
        if (!graph_.is_dead(next)) continue;
        if (order_[next] == 0)
          enter(next);
        else if (is_open_[next])
          low_[node] = std::min(low_[node], order_[next]);
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty())
        low_[visits_.back().node] = std::min(low_[visits_.back().node], low_[node]);
      if (low_[node] == order_[node]) close(node);
    }
  }

  void close(WaitGraph::Node root) {
    std::vector<WaitGraph::Node> component;
    WaitGraph::Node node = no_node;
    do {
      node = open_.back();
      open_.pop_back();
      is_open_[node] = false;
      component.push_back(node);
    } while (node != root);
    std::sort(component.begin(), component.end());
    components_.push_back(std::move(component));
  }

  const WaitGraph& graph_;
  std::vector<std::uint32_t> order_;  // of discovery, from 1; 0: not seen
  std::vector<std::uint32_t> low_;
  std::vector<bool> is_open_;
  std::vector<WaitGraph::Node> open_;
  std::vector<Visit> visits_;
  std::vector<std::vector<WaitGraph::Node>> components_;
  std::uint32_t clock_ = 0;
};

}  // namespace

WaitGraph::Node WaitGraph::add_node(Mode mode) {
  modes_.push_back(mode);
  successors_.emplace_back();
  return static_cast<Node>(modes_.size() - 1);
}

void WaitGraph::add_edge(Node from, Node to) { successors_[from].push_back(to); }

void WaitGraph::reduce() {
  const std::size_t count = modes_.size();
  std::vector<std::vector<Node>> predecessors(count);
  std::vector<std::size_t> unmet(count);  // releases that a node still needs
  std::vector<Node> released;
  is_dead_.assign(count, true);
  for (Node node = 0; node < count; ++node) {
    for (const Node next : successors_[node]) predecessors[next].push_back(node);
    unmet[node] = modes_[node] == Mode::all ? successors_[node].size() : 1;
    if (unmet[node] == 0) released.push_back(node);
  }
  for (const Node node : released) is_dead_[node] = false;
  while (!released.empty()) {
    const Node node = released.back();
    released.pop_back();
    for (const Node waiting : predecessors[node]) {
      if (!is_dead_[waiting] || --unmet[waiting] != 0) continue;
      is_dead_[waiting] = false;
      released.push_back(waiting);
    }
  }
}

std::vector<std::vector<WaitGraph::Node>> WaitGraph::components() const {
  return Components(*this).find();
}

std::vector<std::vector<WaitGraph::Node>> WaitGraph::cores() const {
  std::vector<std::vector<Node>> all = components();
  std::vector<std::size_t> component_of(modes_.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Node node : all[i]) component_of[node] = i;
  std::vector<std::vector<Node>> cores;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool waits_outside = std::ranges::any_of(all[i], [&](Node node) {
      return std::ranges::any_of(
          successors_[node], [&](Node next) { return is_dead_[next] && component_of[next] != i; });
    });
    if (!waits_outside) cores.push_back(std::move(all[i]));
  }
  std::sort(cores.begin(), cores.end());
  return cores;
}

std::vector<WaitGraph::Node> WaitGraph::cycle_through(Node start) const {
  std::vector<Node> came_from(modes_.size(), no_node);
  std::deque<Node> next_to_visit = {start};
  while (!next_to_visit.empty()) {
    const Node node = next_to_visit.front();
    next_to_visit.pop_front();
    for (const Node next : successors_[node]) {
      if (!is_dead_[next] || came_from[next] != no_node) continue;
      came_from[next] = node;
      if (next != start) {
        next_to_visit.push_back(next);
        continue;
      }
      std::vector<Node> cycle;
      for (Node at = node; at != start; at = came_from[at]) cycle.push_back(at);
      cycle.push_back(start);
      std::reverse(cycle.begin(), cycle.end());
      return cycle;
    }
  }
  return {};
}

}  // namespace gang::sim
