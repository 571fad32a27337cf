#include "sim/verdict/missing_participants.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// `rank` calls a barrier `count` times, always at the same place.
void call_barriers(SimulatedRank& rank, int count) {
  for (int i = 0; i < count; ++i) rank.root()->barrier({}, CallSite::at("loop.cc", 7));
}

TEST(MissingParticipants, ShowsWhatTheMissingRankDidInstead) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 1));
    if (rank.rank() != 2) rank.root()->barrier({}, CallSite::at("train.cc", 2));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  ASSERT_TRUE(finding.divergence);
  EXPECT_EQ(to_string(finding.divergence->last_common.call), "barrier #0");
  EXPECT_EQ(to_string(finding.divergence->last_common.location), "train.cc:1");
  EXPECT_THAT(finding.divergence->last_common.ranks, ElementsAre(0, 1, 2, 3));
  ASSERT_EQ(finding.divergence->next.size(), 2U);
  EXPECT_THAT(finding.divergence->next[0].ranks, ElementsAre(0, 1, 3));
  EXPECT_EQ(to_string(finding.divergence->next[0].call), "barrier #1");
  EXPECT_THAT(finding.divergence->next[1].ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding.divergence->next[1].call), "");
  EXPECT_EQ(finding.divergence->next[1].note, "returned");
}

TEST(MissingParticipants, ShowsWhatEndedTheProgramOfTheMissingRankAndWhere) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 1));
    if (rank.rank() == 2) return rank.exit_by("sys.exit", CallSite::at("train.cc", 7));
    rank.root()->barrier({}, CallSite::at("train.cc", 2));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.message, HasSubstr("it ended with sys.exit at train.cc:7 after barrier #0"));
  ASSERT_TRUE(finding.divergence);
  ASSERT_EQ(finding.divergence->next.size(), 2U);
  EXPECT_EQ(finding.divergence->next[1].note, "ended with sys.exit");
  EXPECT_EQ(to_string(finding.divergence->next[1].location), "train.cc:7");
}

// Of several, the place is said only where it is the same for all.
TEST(MissingParticipants, ThoseThatEndedInDifferentPlacesAreShownWithThem) {
  const auto run_with = [](std::uint32_t second_line) {
    return run(4, [second_line](SimulatedRank& rank) {
      if (rank.rank() == 1) return rank.exit_by("sys.exit", CallSite::at("train.cc", 7));
      if (rank.rank() == 2) return rank.exit_by("sys.exit", CallSite::at("train.cc", second_line));
      rank.root()->barrier({}, CallSite::at("train.cc", 2));
    });
  };
  const Finding same = run_with(7).findings.at(0);
  EXPECT_THAT(same.message, HasSubstr("ended with sys.exit at train.cc:7"));
  EXPECT_EQ(same.divergence->next.size(), 2U);
  const Finding other = run_with(9).findings.at(0);
  EXPECT_THAT(other.message, HasSubstr("returned from their programs"));
  ASSERT_EQ(other.divergence->next.size(), 3U);
  EXPECT_EQ(to_string(other.divergence->next[1].location), "train.cc:7");
  EXPECT_EQ(to_string(other.divergence->next[2].location), "train.cc:9");
}

TEST(MissingParticipants, OneThatDoesOneIterationLessThanMostIsMissing) {
  const Report report =
      run(4, [](SimulatedRank& rank) { call_barriers(rank, rank.rank() == 2 ? 3 : 4); });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
}

TEST(MissingParticipants, FewThatDoAnIterationMoreThanMostAreTheOddOnes) {
  const Report report =
      run(4, [](SimulatedRank& rank) { call_barriers(rank, rank.rank() == 2 ? 4 : 3); });
  ASSERT_THAT(ids_of(report), ElementsAre("uneven_iterations"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(to_string(report.findings[0].location), "loop.cc:7");
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 2 called barrier #3 at loop.cc:7 on root[0-3] (4 members) once more "
                        "than ranks 0-1,3, which returned from their programs after barrier #2."));
}

TEST(MissingParticipants, HalvesThatDoDifferentNumbersOfIterationsAreUneven) {
  const Report report = run(2, [](SimulatedRank& rank) { call_barriers(rank, 3 + rank.rank()); });
  ASSERT_THAT(ids_of(report), ElementsAre("uneven_iterations"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Rank 1 called barrier #3"));
}

TEST(MissingParticipants, AnotherCallThanTheLastIsNoIteration) {
  const Report report = run(2, [](SimulatedRank& rank) {
    call_barriers(rank, 3);
    if (rank.rank() == 1) rank.root()->barrier({}, CallSite::at("loop.cc", 9));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
}

TEST(MissingParticipants, FewerCallsOfAnotherPlaceAreNoIteration) {
  const Report report = run(2, [](SimulatedRank& rank) {
    for (int i = 0; i < 3; ++i)
      rank.root()->barrier({}, CallSite::at("loop.cc", rank.rank() == 0 ? 6 : 7));
    if (rank.rank() == 0) rank.root()->barrier({}, CallSite::at("loop.cc", 6));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
}

TEST(MissingParticipants, AFewThatCallWhatMostDoNotAreTheOddOnes) {
  const Report report = run(5, [](SimulatedRank& rank) {
    if (rank.rank() == 3) rank.root()->barrier({}, CallSite::at("loop.cc", 9));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Only rank 3 called barrier #0 at loop.cc:9 on root[0-4] (5 members); "
                        "ranks 0-2,4 never call it: they returned from their programs. Rank 3 "
                        "waits for them."));
}

// Its further calls meet the next ones of the others, and what is left over is another call.
TEST(MissingParticipants, AFewThatMakeACallMoreThanMostWhoHaveReturnedAreTheOddOnes) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::array<float, 4> weights{};
    std::array<float, 8> biases{};
    const auto reduce = [&](const TensorView& bucket, std::uint32_t line) {
      return rank.root()->start_all_reduce(bucket, ReduceOperation::sum, {},
                                           CallSite::at("buckets.cc", line));
    };
    for (int step = 0; step < (rank.rank() == 1 ? 3 : 2); ++step) {
      Work first = reduce(view(weights), 1);
      Work second = reduce(view(biases), 2);
      first.wait();
      second.wait();
    }
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "buckets.cc:1");
  EXPECT_THAT(
      full_message(report.findings[0]),
      HasSubstr("Only rank 1 called all_reduce #4 at buckets.cc:1 on root[0-3] (4 members); "
                "ranks 0,2-3 never call it: they returned from their programs after "
                "all_reduce #3."));
}

TEST(MissingParticipants, TellsMembersThatAreBlockedElsewhereFromThoseThatReturned) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
    if (rank.rank() == 3) return;
    if (rank.rank() == 2) return pair->barrier({}, CallSite::at("train.cc", 5));
    rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
}

TEST(MissingParticipants, ItsCertaintySaysWhetherAnotherScheduleCouldAvoidIt) {
  const auto leave = [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  };
  EXPECT_EQ(run(2, leave).findings.at(0).certainty, Certainty{.schedules = Schedules::every});
  const Report polled = run(2, [&leave](SimulatedRank& rank) {
    Work work = rank.root()->start_barrier();
    while (!work.test()) {
    }
    leave(rank);
  });
  EXPECT_EQ(polled.findings.at(0).certainty, Certainty{.schedules = Schedules::at_least_this});
}

// Rank 1 is on the wrong gang; rank 3 has returned, and three wait for rank 1 in the right one.
TEST(MissingParticipants, WhoKeepsOthersWaitingElsewhereIsTheOddOne) {
  const Report report = run(5, [](SimulatedRank& rank) {
    const auto most = child_of(*rank.root(), {0, 1, 2, 4});
    if (rank.rank() == 1) return rank.root()->barrier();
    if (most) most->barrier();
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

}  // namespace
}  // namespace gang::sim
