#include "harness/recording/value_tree.h"

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using Value = ValueTree::Value;

TEST(ValueTree, KeepsWhatIsAppendedInItsOrder) {
  ValueTree tree;
  const auto first = tree.add_container(false);
  const auto second = tree.add_container(false);
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 100; ++i) {
    tree.append(first, std::vector<Value>{i});
    tree.append(second, std::vector<Value>{-i, -i});
    expected.push_back(i);
  }
  std::vector<std::int64_t> found;
  for (const Value& value : tree.items(first)) found.push_back(std::get<std::int64_t>(value));
  EXPECT_EQ(found, expected);
  ASSERT_EQ(tree.items(second).size(), 200U);
  EXPECT_EQ(std::get<std::int64_t>(tree.items(second)[199]), -99);
}

TEST(ValueTree, FindsKeysOfMapsThatAreMadeAlike) {
  ValueTree tree;
  std::size_t hint = 0;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto map = tree.add_container(true);
    tree.append(map, std::vector<Value>{std::string_view("a"), i, std::string_view("b"), 10 * i});
    const Value* found = tree.find(map, "b", hint);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(std::get<std::int64_t>(*found), 10 * i);
    EXPECT_EQ(hint, 2U);
    EXPECT_EQ(tree.find(map, "c"), nullptr);
  }
}

TEST(ValueTree, AValueThatIsNoContainerHasNoItems) {
  const ValueTree tree;
  EXPECT_TRUE(tree.items(Value{true}).empty());
  EXPECT_EQ(tree.find(Value{std::int64_t{3}}, "a"), nullptr);
  EXPECT_EQ(type_of(Value{std::string_view("a")}), "a text");
  EXPECT_EQ(type_of(Value{}), "nothing");
}

TEST(ValueTree, RefusesMoreValuesThanAnyDumpHas) {
  ValueTree tree;
  const auto list = tree.add_container(false);
  const std::vector<Value> many(1 << 20);
  for (int i = 0; i < 8; ++i) tree.append(list, many);
  EXPECT_THROW(for (int i = 0; i < 16; ++i) tree.append(list, many), InvalidArgument);
}

TEST(ValueTree, OnlyMapsHaveKeys) {
  ValueTree tree;
  const auto list = tree.add_container(false);
  tree.append(list, std::vector<Value>{std::string_view("a"), std::int64_t{1}});
  EXPECT_EQ(tree.find(list, "a"), nullptr);
  EXPECT_EQ(type_of(Value{list}), "a list");
  const auto map = tree.add_container(true);
  tree.append(map, std::vector<Value>{std::string_view("b"), std::string_view("a"),
                                      std::string_view("a"), std::int64_t{7}});
  const Value* found = tree.find(map, "a");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::get<std::int64_t>(*found), 7);
  EXPECT_EQ(type_of(Value{map}), "a map");
}

}  // namespace
}  // namespace gang::harness
