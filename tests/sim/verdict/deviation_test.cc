#include "sim/verdict/deviation.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// How rank 1 leaves the others at its first call: the lines that it calls, and theirs.
Deviance kind_of(const std::vector<std::uint32_t>& own, const std::vector<std::uint32_t>& right) {
  const Report report = recorded(3, [&](SimulatedRank& rank) {
    for (const std::uint32_t number : rank.rank() == 1 ? own : right) reduce(*rank.root(), number);
  });
  const CallSequences sequences(*report.histories);
  return deviation_of(sequences, {1, 0}, {{0, 0}, {2, 0}}).kind;
}

TEST(Deviation, IsToldByHowTheRankGoesOn) {
  EXPECT_EQ(kind_of({3, 4}, {2, 3, 4}), Deviance::skipped);
  EXPECT_EQ(kind_of({9, 2, 3}, {2, 3, 4}), Deviance::extra);
  EXPECT_EQ(kind_of({3, 2, 4}, {2, 3, 4}), Deviance::reordered);
  EXPECT_EQ(kind_of({9, 3, 4}, {2, 3, 4}), Deviance::other_call);
  EXPECT_EQ(kind_of({}, {2}), Deviance::returned);
}

TEST(Deviation, SaysWhatTheOthersHaveInCommon) {
  const Report report = recorded(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    reduce(*tp, rank.rank() == 3 ? 9U : 2U, rank.rank() < 2 ? 1 : 4);
  });
  const CallSequences sequences(*report.histories);
  const Deviation deviation = deviation_of(sequences, {3, 1}, {{0, 1}, {1, 1}, {2, 1}});
  EXPECT_THAT(deviation.expected.ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(to_string(deviation.expected.gang), "tp");  // one gang each
  EXPECT_EQ(deviation.expected.call.payload, "");
  EXPECT_EQ(to_string(deviation.did.gang), "tp[2,3]");
  EXPECT_EQ(deviation.did.call.payload, "sum f32[4]");
  EXPECT_EQ(to_string(deviation.last_common.gang), "root[0-3]");
  EXPECT_EQ(deviation.recorded, 0U);
}

TEST(Deviation, ABranchOfItsOwnIsInStep) {
  const Report report = recorded(2, [](SimulatedRank& rank) {
    reduce(*rank.root(), rank.rank() == 0 ? 2 : 3);
    reduce(*rank.root(), 4);
    reduce(*rank.root(), rank.rank() == 0 ? 5 : 6);
    if (rank.rank() == 0) reduce(*rank.root(), 6);
  });
  const CallSequences sequences(*report.histories);
  EXPECT_FALSE(is_out_of_step(sequences, {1, 0}, {0, 0}));
  EXPECT_TRUE(is_out_of_step(sequences, {1, 2}, {0, 2}));
}

// Rank 2 is to blame, and makes all of them fail.
TEST(Deviation, WhoFailsWithTheArgumentsOfOthersIsInStep) {
  const Report report = recorded(3, [](SimulatedRank& rank) {
    reduce(*rank.root(), rank.rank() == 1 ? 3 : 2, rank.rank() == 2 ? 4 : 1);
  });
  const CallSequences sequences(*report.histories);
  EXPECT_FALSE(is_out_of_step(sequences, {1, 0}, {0, 0}));
  EXPECT_TRUE(is_out_of_step(sequences, {2, 0}, {0, 0}));
}

}  // namespace
}  // namespace gang::sim
