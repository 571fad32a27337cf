#include "gang/recording/call_table.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(CallTable, KeepsEqualCallsOnce) {
  CallTable table;
  Collective call{.kind = OperationKind::all_reduce, .count = 4, .shape = Shape::vector(4)};
  const std::uint32_t first = table.index_of(call, "train.py");
  call.sequence_number = 7;
  EXPECT_EQ(table.index_of(call, "train.py"), first);
  EXPECT_NE(table.index_of(call, "other.py"), first);
  call.shape = Shape{2, 2};
  EXPECT_NE(table.index_of(call, "train.py"), first);
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table[first].sequence_number, 0U);
  EXPECT_STREQ(table[first].call_site.file, "train.py");
}

TEST(CallTable, CopiesTextsAndMakesThemVisible) {
  CallTable table;
  std::uint32_t index = 0;
  {
    const std::string label = "step\x1b[2J";
    const std::string file = "a\nb.py";
    const Collective call{.label = label};
    index = table.index_of(call, file);
  }
  EXPECT_EQ(table[index].label, "step\\x1b[2J");
  EXPECT_STREQ(table[index].call_site.file, "a\\nb.py");
  const CallTable moved = std::move(table);
  EXPECT_EQ(moved[index].label, "step\\x1b[2J");
}

}  // namespace
}  // namespace gang
