#include "sim/schedule/schedule_tree.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using Node = ScheduleTree::Node;

TEST(ScheduleTree, GivesBackNodesFromTheLeavesOn) {
  ScheduleTree tree;
  Node* const root = tree.add(nullptr, 0);
  ScheduleTree::try_context(*root, 1).push_back({});
  Node* const leaf = tree.add(root, 1);
  ScheduleTree::try_context(*leaf, 2);
  tree.weigh(*root);
  tree.weigh(*leaf);
  EXPECT_GT(tree.bytes(), 0u);
  tree.release(root);
  EXPECT_GT(tree.bytes(), 0u) << "a child is left";
  tree.release(leaf);
  EXPECT_EQ(tree.bytes(), 0u);
}

TEST(ScheduleTree, KeepsNodesWhereSomethingIsLeft) {
  ScheduleTree tree;
  Node* const root = tree.add(nullptr, 0);
  ScheduleTree::try_context(*root, 1);
  tree.weigh(*root);
  root->left.push_back({.context = 2});
  tree.open(*root);
  tree.release(root);
  EXPECT_EQ(tree.take_open(), root);
  EXPECT_EQ(tree.take_open(), nullptr);
}

TEST(ScheduleTree, TakesTheDeepestNodeFirst) {
  ScheduleTree tree;
  Node* const root = tree.add(nullptr, 0);
  Node* const child = tree.add(root, 1);
  Node* const later_child = tree.add(root, 2);
  for (Node* node : {later_child, root, child}) {
    node->left.push_back({});
    tree.open(*node);
  }
  EXPECT_EQ(tree.take_open(), later_child);
  EXPECT_EQ(tree.take_open(), child);
  EXPECT_EQ(tree.take_open(), root);
}

TEST(ScheduleTree, KnowsWhatIsTriedAsleepLeftOrUnderWay) {
  ScheduleTree tree;
  Node* const node = tree.add(nullptr, 0);
  ScheduleTree::try_context(*node, 1);
  node->sleeping.push_back({.context = 2});
  node->left.push_back({.context = 3});
  node->running = ScheduleTree::Alternative{.context = 4};
  for (const StepKey context : {1, 2, 3, 4}) EXPECT_TRUE(node->knows(context)) << context;
  EXPECT_FALSE(node->knows(5));
}

TEST(ScheduleTree, ANodeThatIsUsedAgainIsEmpty) {
  ScheduleTree tree;
  Node* const node = tree.add(nullptr, 0);
  ScheduleTree::try_context(*node, 1).push_back({});
  node->enabled = 12;
  tree.weigh(*node);
  tree.release(node);
  Node* const again = tree.add(nullptr, 0);
  EXPECT_EQ(again, node);
  EXPECT_EQ(again->enabled, 0U);
  EXPECT_TRUE(again->all_tried().empty());
  EXPECT_TRUE(ScheduleTree::try_context(*again, 1).empty());
}

TEST(ScheduleTree, OfEquallyDeepNodesTakesTheLatestFirst) {
  ScheduleTree tree;
  Node* const root = tree.add(nullptr, 0);
  std::vector<Node*> children;
  for (StepKey context = 1; context <= 4; ++context) children.push_back(tree.add(root, context));
  for (const std::size_t i : {1, 3, 0, 2}) tree.open(*children[i]);
  for (const std::size_t i : {3, 2, 1, 0}) EXPECT_EQ(tree.take_open(), children[i]) << i;
}

TEST(ScheduleTree, ANodeIsNotTakenWhileItRuns) {
  ScheduleTree tree;
  Node* const node = tree.add(nullptr, 0);
  node->left.push_back({});
  node->running = ScheduleTree::Alternative{.context = 4};
  tree.open(*node);
  EXPECT_EQ(tree.take_open(), nullptr);
}

TEST(ScheduleTree, AfterItIsClearedNothingIsLeft) {
  ScheduleTree tree;
  Node* const node = tree.add(nullptr, 0);
  ScheduleTree::try_context(*node, 1).push_back({});
  node->left.push_back({});
  tree.weigh(*node);
  tree.open(*node);
  tree.clear();
  EXPECT_EQ(tree.bytes(), 0u);
  EXPECT_EQ(tree.take_open(), nullptr);
}

}  // namespace
}  // namespace gang::sim
