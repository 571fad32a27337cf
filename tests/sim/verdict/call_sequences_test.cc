#include "sim/verdict/call_sequences.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(CallSequences, TheSameOperationAtOnePlaceIsOneTokenOnEveryRank) {
  const Report report = recorded(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    reduce(*tp, 2, rank.rank() < 2 ? 1 : 8);
    reduce(*rank.root(), 2);
  });
  const CallSequences sequences(*report.histories);
  ASSERT_EQ(sequences.of(0).size(), 4U);  // split, two reductions, the end
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(sequences.of(0)[i].token, sequences.of(3)[i].token) << i;
  EXPECT_NE(sequences.of(0)[1].token, sequences.of(0)[2].token);
  EXPECT_EQ(sequences.of(0)[3].token, returned_token);
  EXPECT_EQ(sequences.namesakes(sequences.of(0)[1].call->gang), 2U);
}

TEST(CallSequences, ACallIsSettledIfItsMembersMadeItFromOnePlace) {
  const Report report = recorded(2, [](SimulatedRank& rank) {
    reduce(*rank.root(), 2);
    reduce(*rank.root(), rank.rank() == 0 ? 3 : 4);
    if (rank.rank() == 0) reduce(*rank.root(), 5);
  });
  const CallSequences sequences(*report.histories);
  EXPECT_TRUE(sequences.is_settled(sequences.of(0)[0]));
  EXPECT_FALSE(sequences.is_settled(sequences.of(0)[1]));
  EXPECT_FALSE(sequences.is_settled(sequences.of(0)[2]));
  EXPECT_TRUE(sequences.was_ever_settled(sequences.of(0)[0].token));
  EXPECT_FALSE(sequences.was_ever_settled(sequences.of(0)[2].token));
}

TEST(CallSequences, NothingFollowsACallThatFailed) {
  const Report report = recorded(2, [](SimulatedRank& rank) {
    try {
      reduce(*rank.root(), 2, rank.rank() == 0 ? 1 : 2);
    } catch (const GangError&) {
    }
  });
  const CallSequences sequences(*report.histories);
  EXPECT_EQ(sequences.of(0).size(), 1U);
}

TEST(CallSequences, BeginAtOneCallWhereEarlierOnesAreNotKept) {
  const Report report = recorded(3, [](SimulatedRank& rank) {
    for (int i = 0; i < 2000; ++i) reduce(*rank.root(), 2 + static_cast<std::uint32_t>(i % 2));
    if (rank.rank() == 0) reduce(*rank.root(), 4);
  });
  const CallSequences sequences(*report.histories);
  EXPECT_TRUE(sequences.is_cut());
  const SequenceStep& first = sequences.of(0).front();
  EXPECT_GT(first.call->sequence_number, 0U);
  for (int rank = 1; rank < 3; ++rank)
    EXPECT_EQ(sequences.of(rank).front().call->sequence_number, first.call->sequence_number);
}

TEST(CallSequences, KnowWhatARankWillComeTo) {
  const Report report = recorded(1, [](SimulatedRank& rank) {
    reduce(*rank.root(), 2);
    reduce(*rank.root(), 3);
  });
  const CallSequences sequences(*report.histories);
  const Token first = sequences.of(0)[0].token;
  EXPECT_TRUE(sequences.is_ahead(0, 0, first));
  EXPECT_FALSE(sequences.is_ahead(0, 1, first));
  EXPECT_TRUE(sequences.is_ahead(0, 1, returned_token));
}

}  // namespace
}  // namespace gang::sim
