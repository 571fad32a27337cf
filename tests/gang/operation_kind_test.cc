#include "gang/operation_kind.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(OperationKind, TextsAreUniqueAndParseBack) {
  std::set<std::string> texts;
  for (const OperationKind kind : all_operation_kinds) {
    const std::string text(to_string(kind));
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_EQ(parse_operation_kind(text), kind);
  }
  EXPECT_EQ(texts.size(), 19u);
  EXPECT_EQ(to_string(OperationKind::shrink), "shrink");
  EXPECT_EQ(parse_operation_kind("shrink"), std::nullopt) << "no operation";
  EXPECT_FALSE(is_point_to_point(OperationKind::shrink));
  EXPECT_EQ(parse_operation_kind("allreduce"), std::nullopt);
  EXPECT_EQ(parse_operation_kind(""), std::nullopt);
}

TEST(OperationKind, TextIsTheEnumeratorsName) {
  EXPECT_EQ(to_string(OperationKind::all_reduce), "all_reduce");
  EXPECT_EQ(to_string(OperationKind::all_gather_to_list), "all_gather_to_list");
  EXPECT_EQ(to_string(OperationKind::monitored_barrier), "monitored_barrier");
  EXPECT_EQ(to_string(OperationKind::split), "split");
  EXPECT_EQ(to_string(OperationKind::batch), "batch");
}

std::set<std::string> texts_where(bool (*holds)(OperationKind)) {
  std::set<std::string> texts;
  for (const OperationKind kind : all_operation_kinds)
    if (holds(kind)) texts.emplace(to_string(kind));
  return texts;
}

TEST(OperationKind, KnowsWhatIsPointToPoint) {
  EXPECT_EQ(texts_where([](OperationKind kind) { return is_point_to_point(kind); }),
            (std::set<std::string>{"send", "recv", "batch"}));
}

TEST(OperationKind, KnowsWhatReduces) {
  EXPECT_EQ(
      texts_where([](OperationKind kind) { return reduces(kind); }),
      (std::set<std::string>{"all_reduce", "reduce", "reduce_scatter", "scan", "exclusive_scan"}));
}

TEST(OperationKind, KnowsWhatHasATensor) {
  const auto without = texts_where([](OperationKind kind) { return !has_tensor(kind); });
  EXPECT_EQ(without, (std::set<std::string>{"broadcast_objects", "barrier", "monitored_barrier",
                                            "create_gang", "split", "batch"}));
  EXPECT_EQ(texts_where([](OperationKind kind) { return is_scan(kind); }),
            (std::set<std::string>{"scan", "exclusive_scan"}));
}

TEST(OperationKind, KnowsWhatHasARoot) {
  EXPECT_EQ(
      texts_where([](OperationKind kind) { return has_root(kind); }),
      (std::set<std::string>{"reduce", "gather", "scatter", "broadcast", "broadcast_objects"}));
}

}  // namespace
}  // namespace gang
