#include "gang/recording/call_table.h"

#include <vector>

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
  EXPECT_STREQ(table[first].call_site.file(), "train.py");
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
  EXPECT_STREQ(table[index].call_site.file(), "a\\nb.py");
  const CallTable moved = std::move(table);
  EXPECT_EQ(moved[index].label, "step\\x1b[2J");
}

TEST(CallTable, CallsThatDifferInAnythingAreKeptApart) {
  const Collective call{.kind = OperationKind::all_reduce,
                        .peer = 1,
                        .tag = 2,
                        .count = 4,
                        .label = "aa",
                        .call_site = CallSite::at("train.py", 3),
                        .shape = Shape{4, 1}};
  std::vector<Collective> others(10, call);
  others[0].kind = OperationKind::reduce;
  others[1].data_type = DataType::f64;
  others[2].reduce_operation = ReduceOperation::max;
  others[3].peer = 2;
  others[4].tag = 3;
  others[5].count = 5;
  others[6].blocking = !call.blocking;
  others[7].label = "bb";
  others[8].call_site = CallSite::at("train.py", 4);
  others[9].shape = Shape{2, 2};
  CallTable table;
  table.index_of(call, "train.py");
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(table.index_of(others[i], "train.py"), i + 1);
}

}  // namespace
}  // namespace gang
