#include "sim/schedule/context_bits.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::array<std::uint64_t, 3> words = {0b1010, 0, std::uint64_t{1} << 63 | 1};

std::vector<TaskId> members(ContextBits bits) { return {bits.begin(), bits.end()}; }

TEST(ContextBits, AscendThroughAllWords) {
  EXPECT_THAT(members(ContextBits(words)), ElementsAre(1, 3, 128, 191));
  EXPECT_THAT(members(ContextBits(std::span(words).subspan(1, 1))), IsEmpty());
  EXPECT_THAT(members(ContextBits({})), IsEmpty());
}

TEST(ContextBits, ContainTheirMembersOnly) {
  const ContextBits bits(words);
  for (const TaskId id : {1, 3, 128, 191}) EXPECT_TRUE(bits.contains(id)) << id;
  for (const TaskId id : {0, 2, 64, 127, 129, 190, 192, 1000})
    EXPECT_FALSE(bits.contains(id)) << id;
  EXPECT_FALSE(bits.contains(no_task));
}

TEST(ContextBits, TheNextInOrderIsTheOneThatRunsOrElseAGreaterOneOrTheFirst) {
  const ContextBits bits(words);
  EXPECT_EQ(bits.next_in_order(3), 3U);
  EXPECT_EQ(bits.next_in_order(2), 3U);
  EXPECT_EQ(bits.next_in_order(4), 128U);
  EXPECT_EQ(bits.next_in_order(64), 128U);
  EXPECT_EQ(bits.next_in_order(129), 191U);
  EXPECT_EQ(bits.next_in_order(192), 1U);
  EXPECT_EQ(bits.next_in_order(no_task), 1U);
  EXPECT_EQ(ContextBits({}).next_in_order(0), no_task);
  EXPECT_EQ(ContextBits(std::span(words).subspan(1, 1)).next_in_order(5), no_task);
}

}  // namespace
}  // namespace gang::sim
