#include "harness/program_file/step_folding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "harness/program_file/rank_condition.h"
#include "harness/program_file/shared_steps.h"

namespace gang::harness::program_file {
namespace {

constexpr std::size_t longest_loop = 4096;     // steps in its body
constexpr std::size_t fewest_with_others = 4;  // iterations of a loop in some of which ranks differ
constexpr std::size_t most_others = 2;         // such differences

// A step of some ranks, or a loop of those; numbers are indexes into the list of all nodes.
struct Node {
  struct Other {
    std::uint32_t iteration = 0;
    std::uint32_t ranks = 0;

    friend auto operator<=>(const Other&, const Other&) = default;
  };
  struct Child {
    std::uint32_t node = 0;
    std::vector<Other> others;  // iterations in which other ranks do this step

    friend auto operator<=>(const Child&, const Child&) = default;
  };

  std::uint32_t repeat = 0;  // 0: a step
  std::uint32_t step = 0;
  std::uint32_t ranks = 0;  // index of a set of ranks
  std::vector<Child> body;

  bool is_loop() const noexcept { return repeat != 0; }
  friend auto operator<=>(const Node&, const Node&) = default;
};

class StepFolder {
 public:
  explicit StepFolder(const SharedSteps& shared) : shared_(shared) {}

  std::vector<FoldedBlock> run() {
    std::vector<std::uint32_t> nodes;
    for (const SharedSteps::Step& step : shared_.steps)
      nodes.push_back(index_of({.step = step.step, .ranks = step.ranks}));
    fold(nodes);
    std::vector<Node::Child> children;
    for (const std::uint32_t node : nodes) children.push_back({node, {}});
    std::vector<FoldedBlock> blocks = blocks_of(children);
    for (FoldedBlock& block : blocks)
      if (block.ranks.empty() && !shared_.are_all_ranks) block.ranks = shared_.ranks();
    return blocks;
  }

 private:
  using Nodes = std::vector<std::uint32_t>;

  std::uint32_t index_of(Node node) {
    const auto [place, is_new] =
        indexes_.try_emplace(std::move(node), static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back(&place->first);
    return place->second;
  }

  // Whether two nodes are the same, apart from the ranks of a step.
  bool are_similar(std::uint32_t one, std::uint32_t other) const {
    return one == other || (!nodes_[one]->is_loop() && !nodes_[other]->is_loop() &&
                            nodes_[one]->step == nodes_[other]->step);
  }

  // Short loops first: they are then the bodies of longer ones.
  void fold(Nodes& nodes) {
    for (std::size_t period = 1; period <= std::min(longest_loop, nodes.size() / 2);)
      period = fold(nodes, period) ? 1 : period + 1;
  }

  bool fold(Nodes& nodes, std::size_t period) {
    Nodes folded;
    std::size_t similar_end = 0;  // up to there, nodes are similar to those a period later
    for (std::size_t at = 0; at < nodes.size();) {
      const auto end_of = [&](std::size_t end, const auto& are_same) {
        while (end + period < nodes.size() && are_same(nodes[end], nodes[end + period])) ++end;
        return end;
      };
      similar_end = end_of(std::max(at, similar_end),
                           [this](auto one, auto other) { return are_similar(one, other); });
      const std::size_t similar = similar_end - at;
      std::optional<Node> loop = loop_at(nodes, at, period, similar / period + 1);
      if (!loop)
        loop = loop_at(nodes, at, period, (end_of(at, std::equal_to<>()) - at) / period + 1);
      if (loop) {
        at += loop->repeat * period;
        folded.push_back(index_of(*std::move(loop)));
        continue;
      }
      // No loop of this period begins before the first difference.
      const std::size_t skipped = similar < period ? similar + 1 : 1;
      for (std::size_t i = 0; i < skipped; ++i) folded.push_back(nodes[at++]);
    }
    const bool is_folded = folded.size() < nodes.size();
    nodes = std::move(folded);
    return is_folded;
  }

  // None if it is not worth it, or its iterations differ too much.
  std::optional<Node> loop_at(const Nodes& nodes, std::size_t at, std::size_t period,
                              std::size_t repeat) const {
    if ((repeat - 1) * period < 2) return std::nullopt;
    Node loop{.repeat = static_cast<std::uint32_t>(repeat)};
    std::size_t others = 0;
    bool has_loops = false;
    for (std::size_t i = 0; i < period && others <= most_others; ++i) {
      Node::Child child{usual(nodes, at + i, period, repeat), {}};
      for (std::size_t k = 0; k < repeat && others <= most_others; ++k) {
        const std::uint32_t node = nodes[at + i + k * period];
        if (node == child.node) continue;
        child.others.push_back({static_cast<std::uint32_t>(k), nodes_[node]->ranks});
        ++others;
      }
      has_loops = has_loops || nodes_[child.node]->is_loop();
      loop.body.push_back(std::move(child));
    }
    // `iteration` is that of the innermost loop.
    if (others > 0 && (others > most_others || has_loops || repeat < fewest_with_others))
      return std::nullopt;
    return loop;
  }

  // What stands there in most iterations.
  static std::uint32_t usual(const Nodes& nodes, std::size_t at, std::size_t period,
                             std::size_t repeat) {
    std::map<std::uint32_t, std::size_t> counts;
    for (std::size_t k = 0; k < repeat; ++k) ++counts[nodes[at + k * period]];
    return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })
        ->first;
  }

  std::vector<FoldedBlock> blocks_of(const std::vector<Node::Child>& children) const {
    std::vector<FoldedBlock> blocks;
    const Node::Child* last = nullptr;  // a step, whose block is the last one
    for (const Node::Child& child : children) {
      const Node& node = *nodes_[child.node];
      if (node.is_loop()) {
        blocks.push_back(block_of(node));
        last = nullptr;
        continue;
      }
      const bool continues = last != nullptr && nodes_[last->node]->ranks == node.ranks &&
                             last->others == child.others;
      if (!continues) blocks.push_back(condition_of(node, child.others));
      blocks.back().steps.push_back(node.step);
      last = &child;
    }
    return blocks;
  }

  FoldedBlock block_of(const Node& loop) const {
    FoldedBlock block{.repeat = loop.repeat};
    std::vector<FoldedBlock> inner = blocks_of(loop.body);
    if (inner.size() == 1 && inner.front().when.empty() && inner.front().repeat == 1) {
      block.ranks = inner.front().ranks;
      block.steps = std::move(inner.front().steps);
      return block;
    }
    const FoldedBlock& first = inner.front();
    if (first.ranks.empty() && first.when.empty() && first.repeat == 1) {
      block.steps = first.steps;
      inner.erase(inner.begin());
    }
    block.blocks = std::move(inner);
    return block;
  }

  // A block for a step of these ranks.
  FoldedBlock condition_of(const Node& step, const std::vector<Node::Other>& others) const {
    FoldedBlock block;
    const std::vector<int>& all = shared_.ranks();
    const std::vector<int>& usual = shared_.sets[step.ranks];
    if (others.empty()) {
      if (usual != all) block.ranks = usual;
      return block;
    }
    std::vector<OtherRanks> named;
    for (const Node::Other& other : others)
      named.push_back({other.iteration, shared_.sets[other.ranks]});
    block.when = rank_condition(all, usual, named);
    return block;
  }

  const SharedSteps& shared_;
  std::map<Node, std::uint32_t> indexes_;
  std::vector<const Node*> nodes_;
};

}  // namespace

std::vector<FoldedBlock> fold_steps(const std::vector<std::vector<std::uint32_t>>& steps_of_rank) {
  std::vector<FoldedBlock> blocks;
  for (const SharedSteps& shared : share_steps(steps_of_rank))
    for (FoldedBlock& block : StepFolder(shared).run()) blocks.push_back(std::move(block));
  return blocks;
}

}  // namespace gang::harness::program_file
