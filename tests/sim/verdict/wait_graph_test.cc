#include "sim/verdict/wait_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Mode = WaitGraph::Mode;

// A graph of `modes.size()` nodes with the given edges, reduced.
WaitGraph graph_of(const std::vector<Mode>& modes,
                   const std::vector<std::pair<WaitGraph::Node, WaitGraph::Node>>& edges) {
  WaitGraph graph;
  for (const Mode mode : modes) graph.add_node(mode);
  for (const auto& [from, to] : edges) graph.add_edge(from, to);
  graph.reduce();
  return graph;
}

std::vector<WaitGraph::Node> dead_nodes(const WaitGraph& graph) {
  std::vector<WaitGraph::Node> dead;
  for (WaitGraph::Node node = 0; node < graph.node_count(); ++node)
    if (graph.is_dead(node)) dead.push_back(node);
  return dead;
}

TEST(WaitGraph, WhoeverWaitsForNothingIsReleasedAndWithItAllWhoWaitForIt) {
  const WaitGraph graph = graph_of({Mode::all, Mode::all, Mode::any}, {{0, 1}, {1, 2}, {2, 0}});
  EXPECT_THAT(dead_nodes(graph), ElementsAre(0, 1, 2));
  const WaitGraph open = graph_of({Mode::all, Mode::all, Mode::all}, {{0, 1}, {1, 2}});
  EXPECT_THAT(dead_nodes(open), IsEmpty());
}

TEST(WaitGraph, AnyOfNothingIsNeverReleased) {
  EXPECT_THAT(dead_nodes(graph_of({Mode::any}, {})), ElementsAre(0));
}

TEST(WaitGraph, ACycleIsNotADeadlockWhereOneOfItsNodesHasAnotherWayOut) {
  // 0 and 1 wait for each other, but 1 takes 2 as well, which is free.
  const WaitGraph graph = graph_of({Mode::all, Mode::any, Mode::all}, {{0, 1}, {1, 0}, {1, 2}});
  EXPECT_THAT(dead_nodes(graph), IsEmpty());
  const WaitGraph all = graph_of({Mode::all, Mode::all, Mode::all}, {{0, 1}, {1, 0}, {1, 2}});
  EXPECT_THAT(dead_nodes(all), ElementsAre(0, 1));
}

TEST(WaitGraph, EdgesMayRepeat) {
  const WaitGraph graph = graph_of({Mode::all, Mode::all}, {{0, 1}, {0, 1}});
  EXPECT_THAT(dead_nodes(graph), IsEmpty());
}

TEST(WaitGraph, CoresAreTheCyclesAndTheLostNotThoseWhoWaitForThem) {
  // 0 <-> 1; 2 waits for 0; 3 waits for 4, which is lost; 5 waits for 2 and 3.
  const WaitGraph graph =
      graph_of({Mode::all, Mode::all, Mode::all, Mode::all, Mode::any, Mode::all},
               {{0, 1}, {1, 0}, {2, 0}, {3, 4}, {5, 2}, {5, 3}});
  EXPECT_THAT(graph.cores(), ElementsAre(ElementsAre(0, 1), ElementsAre(4)));
}

TEST(WaitGraph, FindsAShortestCycleThroughANode) {
  // 0 → 1 → 2 → 3 → 0 and the short cut 1 → 3.
  const WaitGraph graph = graph_of({Mode::all, Mode::all, Mode::all, Mode::all},
                                   {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {1, 3}});
  EXPECT_THAT(graph.cycle_through(0), ElementsAre(0, 1, 3));
}

TEST(WaitGraph, ANodeThatOnlyWaitsForACycleIsOnNone) {
  const WaitGraph graph = graph_of({Mode::all, Mode::all, Mode::all}, {{0, 1}, {1, 0}, {2, 0}});
  EXPECT_THAT(graph.cycle_through(2), IsEmpty());
}

TEST(WaitGraph, ALongChainNeedsNoDeepStack) {
  constexpr WaitGraph::Node length = 1'000'000;
  WaitGraph graph;
  for (WaitGraph::Node node = 0; node < length; ++node) graph.add_node(Mode::all);
  for (WaitGraph::Node node = 0; node < length; ++node) graph.add_edge(node, (node + 1) % length);
  graph.reduce();
  ASSERT_EQ(graph.cores().size(), 1U);
  EXPECT_EQ(graph.cores().front().size(), length);
}

}  // namespace
}  // namespace gang::sim
