#include "gang/parent_gang.h"

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;

std::shared_ptr<CapturingGang> add_child(CapturingGang& parent) {
  auto child = std::make_shared<CapturingGang>(2);
  parent.reaction = [child](Operation& operation) { *operation.extras->created = child; };
  EXPECT_EQ(parent.create_gang(std::vector{0, 1}), child);
  parent.reaction = nullptr;
  return child;
}

TEST(ParentGang, ClosesChildrenFirst) {
  CapturingGang gang;
  const auto child = add_child(gang);
  const auto grandchild = add_child(*child);
  gang.close();
  EXPECT_TRUE(child->is_closed());
  EXPECT_TRUE(grandchild->is_closed());
  EXPECT_EQ(child->closes, 1);
}

TEST(ParentGang, LeavesTheParentOpen) {
  CapturingGang gang;
  add_child(gang)->close();
  EXPECT_FALSE(gang.is_closed());
  gang.barrier();
}

TEST(ParentGang, DroppedChildrenAreForgotten) {
  CapturingGang gang;
  for (int i = 0; i < 100; ++i) add_child(gang);
  const auto child = add_child(gang);
  gang.close();
  EXPECT_EQ(child->closes, 1);
}

TEST(ParentGang, ClosesEveryChildThatLives) {
  CapturingGang gang;
  std::vector<std::shared_ptr<CapturingGang>> children;
  for (int i = 0; i < 20; ++i) children.push_back(add_child(gang));
  gang.close();
  for (const auto& child : children) EXPECT_EQ(child->closes, 1);
}

}  // namespace
}  // namespace gang
