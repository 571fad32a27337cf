#include "sim/verdict/finding_text.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(FindingText, AListOfRanksKeepsItsOrder) {
  EXPECT_EQ(rank_list_text(std::vector{0, 1, 2, 5}), "0-2,5");
  EXPECT_EQ(rank_list_text(std::vector{2, 0}), "2,0");
  EXPECT_EQ(rank_list_text(std::vector{9, 8, 7, 6, 5, 4, 3, 2, 1}), "9,8,7,6,5,4,3,2,...");
}

TEST(FindingText, APlaceThatIsNotKnownIsLeftOut) {
  EXPECT_EQ(place_text(CallSite::at("src/train.cc", 41)), " at train.cc:41");
  EXPECT_EQ(place_text(CallSite{}), "");
}

TEST(FindingText, ACycleOfMessagesSaysWhetherAllSendOrAllReceive) {
  constexpr auto send = OperationKind::send;
  constexpr auto recv = OperationKind::recv;
  const auto text_of = [](std::initializer_list<OperationKind> kinds) {
    return message_cycle_text(std::vector(kinds), "0 → 1 → 0");
  };
  const std::string mixed = text_of({send, recv});
  EXPECT_EQ(text_of({recv, send}), mixed);
  EXPECT_NE(text_of({send, send}), mixed);
  EXPECT_NE(text_of({recv, recv}), mixed);
  EXPECT_NE(text_of({send, send}), text_of({recv, recv}));
}

TEST(FindingText, ACycleIsToldOfASendElseOfABatch) {
  using enum OperationKind;
  EXPECT_EQ(told_message(std::vector{recv, batch, send}), 2U);
  EXPECT_EQ(told_message(std::vector{recv, batch, recv}), 1U);
  EXPECT_EQ(told_message(std::vector{recv, recv}), 0U);
}

TEST(FindingText, RanksAgreeWithTheirVerb) {
  EXPECT_EQ(ranks_text({4}), "rank 4");
  EXPECT_EQ(ranks_text({0, 1, 2, 6}), "ranks 0-2,6");
  EXPECT_EQ(ranks_do({4}, "waits", "wait"), "rank 4 waits");
  EXPECT_EQ(ranks_do({4, 5}, "waits", "wait"), "ranks 4-5 wait");
  EXPECT_EQ(capitalised("rank 4"), "Rank 4");
}

}  // namespace
}  // namespace gang::sim
