#include "sim/verdict/verdict_diagnosis.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(VerdictDiagnosis, AMismatchNamesTheOddRankAndBreaksTheGang) {
  std::optional<GangError> error;
  const Report report = run(3, [&error](SimulatedRank& rank) {
    const auto failure = gang_error_of([&rank] {
      std::vector<float> data(rank.rank() == 1 ? 2U : 4U);
      rank.root()->all_reduce(view(data), ReduceOperation::sum);
    });
    if (rank.rank() == 0) error = failure;
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_count"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind(), GangErrorKind::mismatch);
  EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
}

// Each rank receives from the one before it, but `sleeper` sleeps.
Report ring_without(int sleeper) {
  const SimulationOptions options{.world_size = 4,
                                  .timeout = std::chrono::seconds(10),
                                  .pending_timeouts = PendingTimeouts::fire};
  return run(options, [sleeper](SimulatedRank& rank) {
    if (rank.rank() == sleeper) return rank.runtime().sleep_for(std::chrono::seconds(60));
    float value = 1;
    rank.root()->recv(view_of(value), (rank.rank() + 3) % 4);
  });
}

TEST(VerdictDiagnosis, AMessageThatTimedOutIsOfWhomItWaitedForInTheEnd) {
  // Rank 0 waits for 3, that for 2, that for 1, which sleeps.
  Report report = ring_without(1);
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("rank 3 waited, in the end, for rank 1, which did not come"));
  report = ring_without(2);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_THAT(report.findings[0].message,
              HasSubstr("rank 3 waited for rank 2, which did not come"));
  report = ring_without(3);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
  EXPECT_THAT(report.findings[0].message, HasSubstr(": rank 3 did not come"));
}

TEST(VerdictDiagnosis, AMessageThatTimedOutInACircleIsOfItsPeer) {
  const Report report = ring_without(no_rank);
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(3));
  EXPECT_THAT(report.findings[0].message, HasSubstr(": rank 3 did not come"));
}

// Rank 0 waits for a message of rank 1, which does as it is told; the others sleep.
template <typename RankOne>
Finding awaited_in_vain(const RankOne& rank_one) {
  const SimulationOptions options{.world_size = 4,
                                  .timeout = std::chrono::seconds(10),
                                  .pending_timeouts = PendingTimeouts::fire};
  const Report report = run(options, [&rank_one](SimulatedRank& rank) {
    const auto part = rank.root()->create_gang(std::array{1, 2, 3});
    float value = 1;
    rank.runtime().sleep_for(std::chrono::seconds(rank.rank() < 2 ? rank.rank() + 1 : 60));
    if (rank.rank() == 0) rank.root()->recv(view_of(value), 1);
    if (rank.rank() == 1) rank_one(*rank.root(), *part);
  });
  return report.findings.at(0);
}

TEST(VerdictDiagnosis, WhomAMessageWaitsForIsToldWhereThatIsOneRankOfTheGang) {
  float value = 1;
  float other = 1;
  const Finding finding = awaited_in_vain([&](Gang& root, Gang&) { root.recv(view_of(value), 2); });
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  EXPECT_THAT(finding.message, HasSubstr("timed out after 10 s"));
  EXPECT_THAT(awaited_in_vain([&](Gang&, Gang& part) { part.recv(view_of(value), 2); }).ranks,
              ElementsAre(1));
  EXPECT_THAT(
      awaited_in_vain([&](Gang& root, Gang&) { root.recv(view_of(value), any_rank); }).ranks,
      ElementsAre(1));
  EXPECT_THAT(awaited_in_vain([&](Gang& root, Gang&) {
                std::array works{root.start_recv(view_of(value), 2),
                                 root.start_recv(view_of(other), 3)};
                Work::wait_any(works);
              }).ranks,
              ElementsAre(1));
}

TEST(VerdictDiagnosis, WhomAMessageWaitsForIsARankOfTheRootGang) {
  const SimulationOptions options{.world_size = 4,
                                  .timeout = std::chrono::seconds(10),
                                  .pending_timeouts = PendingTimeouts::fire};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto gang = rank.root()->create_gang(std::array{3, 2, 1});
    if (rank.rank() < 2) return rank.runtime().sleep_for(std::chrono::seconds(60));
    float value = 1;
    gang->recv(view_of(value), gang->rank() + 1);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

TEST(VerdictDiagnosis, ADroppedWorkAndAnUnreceivedMessageAreFindings) {
  const SimulationOptions options{.world_size = 2, .sends = SendMode::buffered(64)};
  const Report report = run(options, [](SimulatedRank& rank) {
    float value = 1;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
    const Work dropped = rank.root()->start_barrier();
  });
  EXPECT_THAT(ids_of(report), ElementsAre("unwaited_work", "unreceived_message"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[1].ranks, ElementsAre(0, 1));
}

// Whoever should have received may have given up because of that.
TEST(VerdictDiagnosis, WhatABrokenGangLeavesUnreceivedIsNotReported) {
  const SimulationOptions options{.world_size = 2, .sends = SendMode::buffered(64)};
  const auto program = [](bool aborts) {
    return [aborts](SimulatedRank& rank) {
      float value = 1;
      if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
      rank.runtime().sleep_for(std::chrono::seconds(1));
      if (rank.rank() == 1 && aborts) rank.root()->abort();
    };
  };
  EXPECT_THAT(ids_of(run(options, program(false))), ElementsAre("unreceived_message"));
  EXPECT_THAT(ids_of(run(options, program(true))), IsEmpty());
}

TEST(VerdictDiagnosis, ADroppedWorkIsNoFindingWhereThatIsIgnored) {
  const SimulationOptions options{.world_size = 2, .ignored_leaks = {.unwaited_work = true}};
  EXPECT_TRUE(run(options, [](SimulatedRank& rank) { rank.root()->start_barrier(); }).holds());
}

TEST(VerdictDiagnosis, ARankThatAbortedAndReturnedIsNotSaidToHaveThrown) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 0) return rank.root()->abort();
    rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(to_string(report), HasSubstr("(aborted the gang)"));
  EXPECT_THAT(to_string(report), testing::Not(HasSubstr("(ended with an exception)")));
}

TEST(VerdictDiagnosis, WhereACallWasRefusedIsWhereItsRankIsShown) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    rank.root()->broadcast(view_of(value), rank.rank() == 1 ? 9 : 0, {},
                           CallSite::at("train.cc", 4));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  ASSERT_TRUE(report.findings[0].divergence);
  for (const CallSummary& next : report.findings[0].divergence->next)
    EXPECT_EQ(to_string(next.location), "train.cc:4") << next.note;
}

}  // namespace
}  // namespace gang::sim
