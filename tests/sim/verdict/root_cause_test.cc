#include "sim/verdict/root_cause.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(RootCause, TheSameOperationOnTwoGangsOfTheSameMembersIsAMixUp) {
  const Report report = Simulation({.world_size = 4}).run([](SimulatedRank& rank) {
    const std::vector<int> all = {0, 1, 2, 3};
    const auto one = rank.root()->create_gang(all, {.name = "one"});
    const auto other = rank.root()->create_gang(all, {.name = "other"});
    (rank.rank() == 2 ? other : one)->barrier();
  });
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "mismatch_gang");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("gang other"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("gang one"));
}

TEST(RootCause, GangsCreatedInAnotherOrderAreToldFromAWrongMember) {
  const auto create = [](SimulatedRank& rank, const std::vector<int>& usual,
                         const std::vector<int>& of_rank_3) {
    rank.root()->create_gang(rank.rank() == 3 ? of_rank_3 : usual);
  };
  const Report order = Simulation({.world_size = 4}).run([&create](SimulatedRank& rank) {
    create(rank, {0, 1}, {2, 3});
  });
  ASSERT_THAT(order.findings, SizeIs(1));
  EXPECT_EQ(order.findings[0].id, "group_creation_order");
  EXPECT_THAT(order.findings[0].ranks, ElementsAre(3));
  EXPECT_THAT(full_message(order.findings[0]),
              HasSubstr("Rank 3 called create_gang #0 of 2 ranks (2-3)"));
  EXPECT_THAT(full_message(order.findings[0]), HasSubstr("create_gang #0 of 2 ranks (0-1)"));
  const Report member = Simulation({.world_size = 4}).run([&create](SimulatedRank& rank) {
    create(rank, {0, 1, 2}, {0, 1, 3});
  });
  ASSERT_THAT(member.findings, SizeIs(1));
  EXPECT_EQ(member.findings[0].id, "mismatch_ranks");
}

TEST(RootCause, EachCauseIsAFindingOfItsOwn) {
  const Report report = Simulation({.world_size = 6}).run([](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
    std::int32_t value = 0;
    if (rank.rank() == 0 || rank.rank() == 2) pair->barrier();  // 1 and 3 return
    if (rank.rank() >= 4) pair->recv(view_of(value), 1 - pair->rank());
  });
  ASSERT_THAT(report.findings, SizeIs(3));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(report.findings[1].ranks, ElementsAre(3));
  EXPECT_EQ(report.findings[2].id, "point_to_point_cycle");
  EXPECT_THAT(report.findings[2].ranks, ElementsAre(4, 5));
}

TEST(RootCause, WhatElseWaitsForAMissingRankIsAConsequence) {
  const Report report = Simulation({.world_size = 4}).run([](SimulatedRank& rank) {
    const auto row = rank.root()->split({.color = rank.rank() / 2}, {.name = "row"});
    const auto column = rank.root()->split({.color = rank.rank() % 2}, {.name = "column"});
    if (rank.rank() == 0) return;
    if (rank.rank() == 1) row->barrier();
    if (rank.rank() == 2) column->barrier();
  });
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "participant_missing");
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Ranks 1-2 wait for it"));
  EXPECT_THAT(report.findings[0].consequences, SizeIs(1));
}

TEST(RootCause, ARankThatWaitsForItselfIsNamed) {
  const Report report = Simulation({.world_size = 2}).run([](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 1) rank.root()->send(view_of(value), 1);
  });
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(full_message(report.findings[0]), "Rank 1 waits for itself.");
}

TEST(RootCause, AnInversionOfStreamsIsOneWhicheverOperationIsWaitedFor) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = Simulation(options).run([](SimulatedRank& rank) {
    const std::vector<int> all = {0, 1};
    const auto a = rank.root()->create_gang(all, {.name = "a"});
    const auto b = rank.root()->create_gang(all, {.name = "b"});
    Work first = (rank.rank() == 0 ? a : b)->start_barrier();
    Work second = (rank.rank() == 0 ? b : a)->start_barrier();
    first.wait();
    second.wait();
  });
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "stream_order_inversion");
}

// Waits for what nobody does, while the others go on to a barrier.
void wait_for_nobody(SimulatedRank& rank) {
  if (rank.rank() == 1) {
    const auto mutex = rank.runtime().make_mutex();
    const auto condition = rank.runtime().make_condition();
    std::unique_lock<RuntimeMutex> lock(*mutex);
    condition->wait(lock);
  }
  rank.root()->barrier({}, CallSite::at("train.cc", 8));
}

TEST(RootCause, ARankThatWaitsForNobodysCallIsFoundBehindItsLastOne) {
  const Report report = Simulation({.world_size = 3}).run([](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    wait_for_nobody(rank);
  });
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].id, "deadlock");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:3");
  EXPECT_EQ(
      full_message(report.findings[0]),
      "Rank 1 waits for calls that no rank will make. The last call of rank 1 was barrier #0 on "
      "root[0-2] at train.cc:3.");
}

TEST(RootCause, BeforeItsFirstCallTheOneThatWaitsForItIsPointedAt) {
  const Report report = Simulation({.world_size = 3}).run(wait_for_nobody);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:8");
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 1 waits for calls that no rank will make. Barrier #0 on root[0-2] at train.cc:8 "
            "waits for "
            "rank 1.");
}

TEST(RootCause, OneMissingRankOfThousandsIsFound) {
  constexpr int world_size = 4096;
  const SimulationOptions options{.world_size = world_size};
  const auto began = std::chrono::steady_clock::now();
  const Report report = Simulation(options).run([](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() != 516) rank.root()->barrier();
  });
  const auto passed = std::chrono::steady_clock::now() - began;
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(516));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("after barrier #0"));
  EXPECT_EQ(report.blocked.size(), world_size - 1U);
  EXPECT_LT(passed,
            std::chrono::seconds(20));  // sanitizers and busy machines; quadratic is minutes
}

TEST(RootCause, ANearMissDoesNotHideAnIndependentCycle) {
  const Report report = Simulation({.world_size = 4}).run([](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0) rank.root()->send(view_of(value), 1, 7);
    if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 8);
    if (rank.rank() >= 2) rank.root()->recv(view_of(value), 5 - rank.rank());
  });
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].id, finding_id::mismatch_tag);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(report.findings[1].id, finding_id::point_to_point_cycle);
  EXPECT_THAT(report.findings[1].ranks, ElementsAre(2, 3));
}

}  // namespace
}  // namespace gang::sim
