#include "sim/verdict/consensus.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Consensus consensus_of(int world_size, const RankProgram& program) {
  const Report report = recorded(world_size, program);
  return find_consensus(*report.histories, report.blocked);
}

std::vector<int> culprits(const Consensus& consensus) {
  std::vector<int> ranks;
  for (const Deviation& deviation : consensus.deviations) ranks.push_back(deviation.rank);
  return ranks;
}

TEST(Consensus, ThereIsNoneToLeaveInACorrectProgram) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    for (int i = 0; i < 3; ++i) {
      reduce(*tp, 2);
      // Parts of a program that one pair, and one rank, have for themselves.
      if (rank.rank() >= 2) reduce(*tp, 3);
      rank.root()->barrier({}, line(rank.rank() == 0 ? 4U : 5U));
    }
  });
  EXPECT_THAT(consensus.deviations, IsEmpty());
  EXPECT_THAT(consensus.sides, IsEmpty());
}

TEST(Consensus, ASkippedCallOfAPairIsJudgedByTheOtherPairs) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    if (rank.rank() != 3) reduce(*tp, 2);
    reduce(*rank.root(), 3);
  });
  ASSERT_THAT(culprits(consensus), ElementsAre(3));
  const Deviation& deviation = consensus.deviations[0];
  EXPECT_THAT(deviation.expected.ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(to_string(deviation.expected.location), "train.py:2");
  EXPECT_EQ(to_string(deviation.did.location), "train.py:3");
  EXPECT_EQ(to_string(deviation.last_common.location), "train.py:1");
}

TEST(Consensus, AnExtraCallOfAPairIsJudgedByTheOtherPairs) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    reduce(*tp, 2);
    if (rank.rank() == 2) reduce(*tp, 9);
    rank.root()->barrier({}, line(3));
  });
  ASSERT_THAT(culprits(consensus), ElementsAre(2));
  EXPECT_EQ(to_string(consensus.deviations[0].did.location), "train.py:9");
}

TEST(Consensus, WhoLeavesOutWhatTheRestOfItsGangDoesIsOdd) {
  const Consensus consensus = consensus_of(9, [](SimulatedRank& rank) {
    const auto part = rank.root()->split({.color = rank.rank() / 3}, {.name = "tp"}, line(1));
    if (rank.rank() >= 6 && rank.rank() != 7) reduce(*part, 2);  // only the last gang does that
    rank.root()->barrier({}, line(3));
  });
  EXPECT_THAT(culprits(consensus), ElementsAre(7));
}

TEST(Consensus, ACallThatMetAnotherOneIsFoundBehindIt) {
  // The extra barrier meets the next one of the others, and all later ones too.
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.root()->barrier({}, line(4));
    rank.root()->barrier({}, line(7));
    rank.root()->barrier({}, line(10));
  });
  ASSERT_THAT(culprits(consensus), ElementsAre(2));
  EXPECT_EQ(consensus.deviations[0].kind, Deviance::extra);
  EXPECT_EQ(to_string(consensus.deviations[0].did.location), "train.py:4");
}

TEST(Consensus, TwoHalvesAreTwoSides) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    const auto one = rank.root()->split({.color = rank.rank() / 2}, {.name = "one"}, line(1));
    const auto other = rank.root()->split({.color = rank.rank() % 2}, {.name = "other"}, line(1));
    const bool is_first = rank.rank() == 0 || rank.rank() == 3;
    reduce(is_first ? *one : *other, is_first ? 2 : 4);
    reduce(is_first ? *other : *one, is_first ? 3 : 5);
  });
  EXPECT_THAT(consensus.deviations, IsEmpty());
  ASSERT_EQ(consensus.sides.size(), 2U);
  EXPECT_EQ(consensus.sides[0].ranks.size(), 2U);
}

TEST(Consensus, OfAMessageEitherEndMayBeWrong) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->barrier({}, line(1));
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 0, {}, line(2));
  });
  EXPECT_THAT(consensus.deviations, IsEmpty());
}

TEST(Consensus, ItSaysThatARankLeftBeforeWhatIsRecorded) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    for (int i = 0; i < 1500; ++i) {
      reduce(*rank.root(), 2);
      if (rank.rank() != 1 || i != 3) reduce(*rank.root(), 3);
    }
  });
  ASSERT_THAT(culprits(consensus), ElementsAre(1));
  EXPECT_GT(consensus.deviations[0].recorded, 0U);
}

// Rank 3 makes a barrier instead of the ring that the others are in. Rank 1, which does not wait
// for it there, goes on and meets the barrier: then all messages fail.
Report ring_that_fails() {
  return recorded(4, [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    float own = 0;
    float others = 0;
    for (int step = 0; step < 3; ++step) {
      reduce(root, 2);
      if (rank.rank() == 3 && step == 1) root.barrier({}, line(9));
      Work sent = root.start_send(view_of(own), (rank.rank() + 1) % 4, 0, {}, line(3));
      Work received = root.start_recv(view_of(others), (rank.rank() + 3) % 4, 0, {}, line(4));
      sent.wait();
      received.wait();
    }
  });
}

TEST(Consensus, WhoIsAwaitedInMessagesThatFailedIsOdd) {
  const Report report = ring_that_fails();
  const Consensus consensus = find_consensus(*report.histories, report.blocked);
  ASSERT_THAT(culprits(consensus), ElementsAre(3));
  EXPECT_EQ(to_string(consensus.deviations[0].did.location), "train.py:9");
}

// As a dump may have it.
TEST(Consensus, APeerOutsideOfTheWorldIsNotAwaited) {
  CallHistories histories = *ring_that_fails().histories;
  for (TimelineCall& call : histories.calls)
    if (call.call.peer) call.call.peer = 1 << 30;
  EXPECT_THAT(culprits(find_consensus(histories, {})), IsEmpty());
}

// Its rank has gone on, and waits for rank 3 elsewhere.
TEST(Consensus, WhoIsNotAwaitedInAMessageNeedNotMakeItsLike) {
  const Consensus consensus = consensus_of(4, [](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    float value = 0;
    Work received;
    if (rank.rank() != 3)
      received = rank.root()->start_recv(view_of(value), (rank.rank() + 1) % 4, 0, {}, line(3));
    reduce(*rank.root(), 4);
    if (rank.rank() != 2) reduce(*tp, 6);
    rank.root()->barrier({}, line(9));
  });
  EXPECT_THAT(culprits(consensus), ElementsAre(2));
}

}  // namespace
}  // namespace gang::sim
